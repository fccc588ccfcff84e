// What a unit has for an attention with scores: products lane by lane for scores, the value of every entry, and the
// sums of coefficients that totals are divided by.
//
// A word of scores has those of a node's heads as a source, then as a target. A row's own word has the largest of its
// sources, and those of its node as a target. z = s + r; e = 5 LeakyReLU(z), and D = e of the largest less e is exact.

`default_nettype none

module array_coefficient #(
  parameter int unsigned Bits            = 8,
  parameter int unsigned SumBits         = 28,
  parameter int unsigned Tiles           = 1,
  parameter int unsigned DenominatorBits = 16,
  parameter int unsigned ExponentBits    = 9,   // of the table of exponentials
  localparam int unsigned WordBits = array_pkg::Lanes * Bits,
  localparam int unsigned ProductBits = Bits + array_pkg::ValueBits,
  localparam int unsigned LaneBits = $clog2(array_pkg::Lanes)
) (
  input  wire                                          clk_i,
  input  wire                                          scores_i,    // the step of the attention
  input  wire                                          maxima_i,
  input  wire                                          messages_i,
  input  wire  [3:0]                                   shift_i,     // of a difference
  // Cycle 1: what the issue sends. Cycle 2: the own word. Cycle 3: the table's word, and the value of the stream.
  input  wire                                          score_i,
  input  wire  [LaneBits-1:0]                          lane_i,
  input  wire  [WordBits-1:0]                          own_i,
  input  wire  [WordBits-1:0]                          word_i,
  input  wire  signed [array_pkg::ValueBits-1:0]       value_i,
  // The operands: of scores in cycle 3, else in cycle 6. Then the products.
  output logic [WordBits-1:0]                          word_o,
  output logic [array_pkg::Lanes-1:0][array_pkg::ValueBits-1:0] values_o,
  input  wire  [array_pkg::Lanes-1:0][ProductBits-1:0] product_i,
  // Cycle 7: with the products of cycle 6.
  output logic [array_pkg::Lanes-1:0]                  lane_o,      // of a score
  output logic signed [SumBits-1:0]                    score_o,
  input  wire                                          valid_i,
  input  wire                                          first_i,
  /* verilator lint_off UNUSEDSIGNAL */  // there may be few tiles
  input  wire  [array_pkg::TileBits-1:0]               tile_i,
  /* verilator lint_on UNUSEDSIGNAL */
  output logic [DenominatorBits-1:0]                   divisor_o    // three cycles later, with the shifted total
);
  import array_pkg::*;
  localparam int unsigned DifferenceBits = Bits + 4;  // less than 6 * 2**Bits

  // The lane moves along to cycle 7.
  logic [5:0][LaneBits-1:0] lane_q;
  always_ff @(posedge clk_i) lane_q <= {lane_q[4:0], lane_i};

  // Cycle 3: the scores of the entry and of its row.
  logic [1:0] reads_q;  // the word is one of scores
  logic [WordBits-1:0] own_q, source_q;
  logic signed [Bits-1:0] source, target, largest;
  always_ff @(posedge clk_i) begin
    reads_q <= {reads_q[0], score_i};
    own_q   <= own_i;
    if (reads_q[1]) source_q <= word_i;
  end
  always_comb begin
    source  = '0;
    target  = '0;
    largest = '0;
    for (int unsigned h = 0; h < Heads; h++) begin
      if (32'(lane_q[1][LaneBits-2:0]) == h) begin
        source  = source_q[h*Bits+:Bits];
        target  = own_q[(Heads+h)*Bits+:Bits];
        largest = own_q[h*Bits+:Bits];
      end
    end
  end

  // Cycle 4: z. Cycle 5: D. Cycle 6: c, from the table.
  logic signed [Bits:0] above_q, below_q;
  logic signed [DifferenceBits-1:0] difference_q;
  logic [DifferenceBits+14:0] shifted;
  logic beyond_q;
  logic [CoefficientBits-1:0] found;
  function automatic logic signed [DifferenceBits-1:0] fivefold(input logic signed [Bits:0] z);
    fivefold = z[Bits] ? DifferenceBits'(z) : (DifferenceBits'(z) <<< 2) + DifferenceBits'(z);
  endfunction
  assign shifted = (DifferenceBits + 15)'(difference_q) << shift_i;
  always_ff @(posedge clk_i) begin
    above_q      <= (Bits + 1)'(target) + (Bits + 1)'(largest);
    below_q      <= (Bits + 1)'(target) + (Bits + 1)'(source);
    difference_q <= fivefold(above_q) - fivefold(below_q);
    beyond_q     <= shifted >= (DifferenceBits + 15)'(1) << ExponentBits;
  end
  array_exponential u_exponential (
    .clk_i(clk_i), .difference_i(ExponentBits'(shifted)), .coefficient_o(found)
  );

  // An entry of the value 0 is none. Of others bit 0 says whether the row's sum counts it.
  logic [2:0][ValueBits-1:0] value_q;
  logic [2:0][WordBits-1:0] word_q;
  logic [CoefficientBits-1:0] weight;
  always_ff @(posedge clk_i) begin
    value_q <= {value_q[1:0], value_i};
    word_q  <= {word_q[1:0], word_i};
  end
  assign weight = (beyond_q || value_q[2] == '0) ? '0 : found;
  assign word_o = scores_i ? word_i : word_q[2];
  for (genvar l = 0; l < Lanes; l++) begin : gen_value
    always_comb begin
      if (scores_i) values_o[l] = ValueBits'(signed'(own_q[l*Bits+:Bits]));
      else if (maxima_i) values_o[l] = ValueBits'(1);
      else if (messages_i) values_o[l] = ValueBits'(weight);
      else values_o[l] = value_q[2];
    end
  end

  // Cycles 5 to 7: the products of a score are added.
  logic [Lanes/2-1:0][SumBits-1:0] pairs_q;
  logic [Lanes/4-1:0][SumBits-1:0] fours_q;
  always_ff @(posedge clk_i) begin
    for (int unsigned p = 0; p < Lanes / 2; p++) begin
      pairs_q[p] <= SumBits'(signed'(product_i[2*p])) + SumBits'(signed'(product_i[2*p+1]));
    end
    for (int unsigned p = 0; p < Lanes / 4; p++) fours_q[p] <= pairs_q[2*p] + pairs_q[2*p+1];
    score_o <= fours_q[0] + fours_q[1];
  end
  always_comb for (int unsigned l = 0; l < Lanes; l++) lane_o[l] = 32'(lane_q[5]) == l;

  // Cycle 7: the sum of a row's coefficients, of each tile; it leaves with the total.
  logic [DenominatorBits-1:0] counted_q, sum, stored;
  logic [1:0][DenominatorBits-1:0] divisor_q;
  always_ff @(posedge clk_i) counted_q <= value_q[2][0] ? DenominatorBits'(weight) : '0;
  assign sum = first_i ? counted_q : stored + counted_q;
  if (Tiles == 1) begin : gen_register
    logic [DenominatorBits-1:0] sum_q;
    assign stored = sum_q;
    always_ff @(posedge clk_i) if (valid_i) sum_q <= sum;
  end else begin : gen_memory
    localparam int unsigned SumTileBits = $clog2(Tiles);
    (* ram_style = "distributed" *) logic [DenominatorBits-1:0] sums[Tiles];
    assign stored = sums[SumTileBits'(tile_i)];
    always_ff @(posedge clk_i) if (valid_i) sums[SumTileBits'(tile_i)] <= sum;
  end
  always_ff @(posedge clk_i) begin
    divisor_q <= {divisor_q[0], sum};
    divisor_o <= divisor_q[1];
  end
endmodule

`default_nettype wire
