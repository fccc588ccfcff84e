// The nearest points of one row: a place each, sorted by the key {squared distance, index}. Products of a point's lanes
// are added, word by word; the sum with the point's index is its key. No two keys are equal, so that the order of
// arrival does not matter. At the row's end the indices leave, one a cycle, the nearest first, while the next row runs:
// a row takes as many cycles at least.

`default_nettype none

module array_chain #(
  parameter int unsigned ProductBits = 18,
  parameter int unsigned Places      = 20  // nearest points of a row, at most
) (
  input  wire                                clk_i,
  input  wire                                rst_i,
  input  wire                                start_i,
  input  wire  [array_pkg::PlacesBits-1:0]   places_i,  // nearest points of a row, for this run
  // Squares of the differences of a word's lanes.
  input  wire  [array_pkg::Lanes-1:0][ProductBits-1:0] square_i,
  input  wire                                valid_i,
  input  wire                                first_i,   // the point's first word
  input  wire                                ends_i,    // its last
  input  wire                                last_i,    // the row's last point
  output logic                               valid_o,
  output logic [array_pkg::IndexBits-1:0]    index_o,
  output logic                               done_o     // the row's last index
);
  import array_pkg::*;
  localparam int unsigned SumBits = ProductBits + $clog2(Lanes);
  localparam int unsigned DistanceBits = SumBits + TileBits;
  localparam int unsigned KeyBits = DistanceBits + IndexBits;

  // The word's squares are added, then the point's words.
  logic [SumBits-1:0] sum, sum_q;
  logic [DistanceBits-1:0] distance_q;
  logic added_q, added_first_q, added_ends_q, added_last_q, key_valid_q, key_last_q, sorted_q;
  logic [IndexBits-1:0] index_q;
  always_comb begin
    sum = '0;
    for (int unsigned l = 0; l < Lanes; l++) sum = sum + SumBits'(square_i[l]);
  end
  always_ff @(posedge clk_i) begin
    sum_q         <= sum;
    added_first_q <= first_i;
    added_ends_q  <= ends_i;
    added_last_q  <= last_i;
    if (added_q) distance_q <= (added_first_q ? '0 : distance_q) + DistanceBits'(sum_q);
    key_last_q    <= added_last_q;
    if (key_valid_q) index_q <= key_last_q ? '0 : index_q + 1'b1;
    if (start_i) index_q <= '0;
    added_q       <= valid_i && !rst_i;
    key_valid_q   <= added_q && added_ends_q && !rst_i;
    sorted_q      <= key_valid_q && key_last_q && !rst_i;
  end

  // Every place keeps its key, takes the new one, or takes its neighbour's. A row begins with no key at all.
  logic [KeyBits-1:0] key;
  logic [Places-1:0][KeyBits-1:0] place_q;
  logic [Places-1:0] held_q, nearer;  // nearer: the new key comes before that of the place
  logic fresh_q;
  assign key = {distance_q, index_q};
  for (genvar p = 0; p < Places; p++) begin : gen_place
    logic taken;  // the place before this one has a key that moves here
    assign nearer[p] = !held_q[p] || fresh_q || key < place_q[p];
    if (p == 0) begin : gen_nearest
      assign taken = 1'b0;
      always_ff @(posedge clk_i) if (key_valid_q) held_q[p] <= 1'b1;
    end else begin : gen_further
      assign taken = nearer[p-1];
      always_ff @(posedge clk_i) if (key_valid_q) held_q[p] <= held_q[p-1] && !fresh_q;
    end
    always_ff @(posedge clk_i) begin
      if (key_valid_q && nearer[p]) place_q[p] <= taken ? place_q[p == 0 ? 0 : p-1] : key;
    end
  end
  always_ff @(posedge clk_i) begin
    if (key_valid_q) fresh_q <= key_last_q;
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
