// Squared distances between rows: the squares of a word's lanes are added, then the words of a row. Three cycles.

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
  logic [1:0][DistanceBits-1:0] half, half_q;
  logic [DistanceBits-1:0] sum_q;
  logic [1:0] added_q, added_first_q, added_ends_q, added_last_q;
  always_comb begin
    half = '0;
    for (int unsigned l = 0; l < Lanes; l++) half[l % 2] = half[l % 2] + DistanceBits'(square_i[l]);
  end
  always_ff @(posedge clk_i) begin
    half_q        <= half;
    sum_q         <= half_q[0] + half_q[1];
    added_first_q <= {added_first_q[0], first_i};
    added_ends_q  <= {added_ends_q[0], ends_i};
    added_last_q  <= {added_last_q[0], last_i};
    added_q       <= rst_i ? '0 : {added_q[0], valid_i};
    if (added_q[1]) distance_o <= (added_first_q[1] ? '0 : distance_o) + sum_q;
    last_o        <= added_last_q[1];
    valid_o       <= added_q[1] && added_ends_q[1] && !rst_i;
  end
endmodule

`default_nettype wire
