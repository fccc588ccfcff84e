// The nearest points of one row: a place each, sorted by the key {squared distance, index}, which a point's distance and
// its index make. No two keys are equal, so that the order of arrival does not matter. At the row's end the indices leave, one a cycle, the nearest first, while the next row runs:
// a row takes as many cycles at least.

`default_nettype none

module array_chain #(
  parameter int unsigned DistanceBits = 24,
  parameter int unsigned Places       = 20  // nearest points of a row, at most
) (
  input  wire                                clk_i,
  input  wire                                rst_i,
  input  wire                                start_i,
  input  wire  [array_pkg::PlacesBits-1:0]   places_i,  // nearest points of a row, for this run
  input  wire                                valid_i,
  input  wire  [DistanceBits-1:0]            distance_i,
  input  wire                                last_i,    // the row's last point
  output logic                               valid_o,
  output logic [array_pkg::IndexBits-1:0]    index_o,
  output logic                               done_o     // the row's last index
);
  import array_pkg::*;
  localparam int unsigned KeyBits = DistanceBits + IndexBits;

  logic sorted_q;
  logic [IndexBits-1:0] index_q;
  always_ff @(posedge clk_i) begin
    if (valid_i) index_q <= last_i ? '0 : index_q + 1'b1;
    if (start_i) index_q <= '0;
    sorted_q <= valid_i && last_i && !rst_i;
  end

  // Every place keeps its key, takes the new one, or takes its neighbour's. A row begins with no key at all.
  logic [KeyBits-1:0] key;
  logic [Places-1:0][KeyBits-1:0] place_q;
  logic [Places-1:0] held_q, nearer;  // nearer: the new key comes before that of the place
  logic fresh_q;
  assign key = {distance_i, index_q};
  for (genvar p = 0; p < Places; p++) begin : gen_place
    logic taken;  // the place before this one has a key that moves here
    assign nearer[p] = !held_q[p] || fresh_q || key < place_q[p];
    if (p == 0) begin : gen_nearest
      assign taken = 1'b0;
      always_ff @(posedge clk_i) if (valid_i) held_q[p] <= 1'b1;
    end else begin : gen_further
      assign taken = nearer[p-1];
      always_ff @(posedge clk_i) if (valid_i) held_q[p] <= held_q[p-1] && !fresh_q;
    end
    always_ff @(posedge clk_i) begin
      if (valid_i && nearer[p]) place_q[p] <= taken ? place_q[p == 0 ? 0 : p-1] : key;
    end
  end
  always_ff @(posedge clk_i) begin
    if (valid_i) fresh_q <= last_i;
    if (start_i) fresh_q <= 1'b1;
  end

  // The indices leave.
  logic [Places-1:0][IndexBits-1:0] leaving_q;
  logic [PlacesBits-1:0] left_q;
  assign valid_o = left_q != '0;
  assign index_o = leaving_q[0];
  assign done_o  = left_q == PlacesBits'(1);
  always_ff @(posedge clk_i) begin
    for (int unsigned p = 0; p < Places; p++) leaving_q[p] <= (p + 1 < Places) ? leaving_q[(p + 1) % Places] : '0;
    if (sorted_q) for (int unsigned p = 0; p < Places; p++) leaving_q[p] <= place_q[p][IndexBits-1:0];
    if (sorted_q) left_q <= places_i;
    else if (valid_o) left_q <= left_q - 1'b1;
    if (rst_i) left_q <= '0;
  end
endmodule

`default_nettype wire
