// Squared distances between rows: the squares of a word's lanes are added, then the words of a row. Two cycles.

`default_nettype none

module array_distance #(
  parameter int unsigned ProductBits  = 18,
  parameter int unsigned DistanceBits = 24  // of a row's squares together
) (
  input  wire                                clk_i,
  input  wire                                rst_i,
  // Squares of the differences of a word's lanes.
  input  wire  [array_pkg::Lanes-1:0][ProductBits-1:0] square_i,
  input  wire                                valid_i,
  input  wire                                first_i,   // the first word
  input  wire                                ends_i,    // the last one
  input  wire                                last_i,    // of the last distance that a row wants
  output logic                               valid_o,
  output logic [DistanceBits-1:0]            distance_o,
  output logic                               last_o
);
  import array_pkg::*;
  logic [DistanceBits-1:0] sum, sum_q;
  logic added_q, added_first_q, added_ends_q, added_last_q;
  always_comb begin
    sum = '0;
    for (int unsigned l = 0; l < Lanes; l++) sum = sum + DistanceBits'(square_i[l]);
  end
  always_ff @(posedge clk_i) begin
    sum_q         <= sum;
    added_first_q <= first_i;
    added_ends_q  <= ends_i;
    added_last_q  <= last_i;
    if (added_q) distance_o <= (added_first_q ? '0 : distance_o) + sum_q;
    last_o        <= added_last_q;
    added_q       <= valid_i && !rst_i;
    valid_o       <= added_q && added_ends_q && !rst_i;
  end
endmodule

`default_nettype wire
