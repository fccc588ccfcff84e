// The nearest points of one row: a place each, sorted by the key {squared distance, index}, which a point's distance
// and its index make. No two keys are equal, so that the order of arrival does not matter. At the row's end the indices
// leave, one a cycle, the nearest first, while the next row runs: a row takes as many cycles at least.

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

  logic sorted_q, valid_q, last_q;
  logic [IndexBits-1:0] index_q;
  always_ff @(posedge clk_i) begin
    if (valid_i) index_q <= last_i ? '0 : index_q + 1'b1;
    if (start_i) index_q <= '0;
    valid_q  <= valid_i && !rst_i;
    last_q   <= last_i;
    sorted_q <= valid_q && last_q && !rst_i;
  end

  // A key is compared with those of all places, and with the key before it, which takes its place in the same cycle.
  logic [KeyBits-1:0] key, key_q;
  logic [Places-1:0][KeyBits-1:0] place_q;
  logic [Places-1:0] nearer, nearer_q, moved_q;  // the key comes before that of the place; what was there moved on
  logic nearer_last_q;
  assign key = {distance_i, index_q};
  always_ff @(posedge clk_i) begin
    key_q         <= key;
    nearer_last_q <= key < key_q;
    moved_q       <= valid_q ? nearer : '0;
  end

  // Then every place keeps its key, takes the new one, or takes its neighbour's. A row begins with no key at all.
  logic [Places-1:0] open_q;  // no key of this row is there
  for (genvar p = 0; p < Places; p++) begin : gen_place
    always_ff @(posedge clk_i) nearer_q[p] <= key < place_q[p];
    if (p == 0) begin : gen_nearest
      assign nearer[p] = open_q[p] || (moved_q[p] ? nearer_last_q : nearer_q[p]);
      always_ff @(posedge clk_i) begin
        if (valid_q && nearer[p]) place_q[p] <= key_q;
        if (valid_q) open_q[p] <= last_q;
        if (start_i) open_q[p] <= 1'b1;
      end
    end else begin : gen_further
      assign nearer[p] = open_q[p] ||
                         (!moved_q[p] ? nearer_q[p] : moved_q[p-1] ? nearer_q[p-1] : nearer_last_q);
      always_ff @(posedge clk_i) begin
        if (valid_q && nearer[p]) place_q[p] <= nearer[p-1] ? place_q[p-1] : key_q;
        if (valid_q) open_q[p] <= last_q || open_q[p-1];
        if (start_i) open_q[p] <= 1'b1;
      end
    end
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
