// The multipliers of a unit and a sum for each lane, of every tile: a product is added, is the larger one, or is left
// out. Products are a cycle behind their operands; valid_i and what is named with it are theirs.

`default_nettype none

module array_unit_sums #(
  parameter int unsigned Bits      = 8,
  parameter int unsigned SumBits   = 28,
  parameter int unsigned Tiles     = 1,
  parameter bit          Maximum   = 1'b0,
  parameter bit          Softmax   = 1'b0,  // attention with scores
  parameter bit          Symmetric = 1'b0,  // of both ways round
  localparam int unsigned ProductBits = Bits + array_pkg::ValueBits
) (
  input  wire                                              clk_i,
  input  wire                                              rst_i,
  /* verilator lint_off UNUSEDSIGNAL */  // most fields belong to other modules
  input  wire  array_pkg::descriptor_t                     d_i,
  /* verilator lint_on UNUSEDSIGNAL */
  input  wire  [array_pkg::Lanes*Bits-1:0]                 word_i,
  input  wire  [array_pkg::Lanes-1:0][array_pkg::ValueBits-1:0] values_i,
  output logic [array_pkg::Lanes-1:0][ProductBits-1:0]     product_o,
  input  wire                                              valid_i,
  input  wire                                              first_i,
  input  wire                                              last_i,
  /* verilator lint_off UNUSEDSIGNAL */  // there may be few tiles; without attention there are no scores
  input  wire  [array_pkg::TileBits-1:0]                   tile_i,
  input  wire                                              scores_i,  // the step of the attention
  input  wire                                              maxima_i,
  input  wire  [array_pkg::Lanes-1:0]                      scored_i,  // the lane that the score belongs to
  input  wire  signed [SumBits-1:0]                        score_i,
  input  wire  [array_pkg::Heads-1:0]                      best_i,    // heads whose source is the row's best yet
  /* verilator lint_on UNUSEDSIGNAL */
  output logic                                             row_o,     // a row has ended
  output logic [array_pkg::Lanes-1:0][SumBits-1:0]         sum_o
);
  import array_pkg::*;
  localparam int unsigned SumTileBits = (Tiles > 1) ? $clog2(Tiles) : 1;

  // A tile's sum is read, updated and written back within a cycle.
  logic [Lanes-1:0][SumBits-1:0] stored, total_d;
  for (genvar l = 0; l < Lanes; l++) begin : gen_lane
    fgnas_multiplier #(.LeftBits(Bits), .RightBits(ValueBits), .UseDsp(1'b1)) u_multiplier (
      .clk_i(clk_i), .left_i(word_i[l*Bits+:Bits]), .right_i(values_i[l]), .product_o(product_o[l])
    );
    logic signed [SumBits-1:0] message;
    if (Softmax) begin : gen_score
      assign message = !scores_i ? SumBits'(signed'(product_o[l])) : scored_i[l] ? score_i : '0;
    end else begin : gen_message
      assign message = SumBits'(signed'(product_o[l]));
    end
    // The message is the left operand: only the right one has a choice before the adder, so that both share their LUTs.
    logic [SumBits-1:0] earlier;
    assign earlier = first_i ? '0 : stored[l];
    always_comb begin
      if (!first_i && Symmetric && maxima_i && d_i.symmetric != '0) total_d[l] = best_i[l%Heads] ? message : stored[l];
      // The node's own scores as a target, whose entry comes first.
      else if (!first_i && maxima_i && l >= Heads) total_d[l] = stored[l];
      else if (Maximum && d_i.reduce != '0) begin
        total_d[l] = (first_i || message > signed'(stored[l])) ? message : stored[l];
      end else total_d[l] = message + earlier;
    end
  end
  if (Tiles == 1) begin : gen_register
    logic [Lanes-1:0][SumBits-1:0] sums_q;
    assign stored = sums_q;
    always_ff @(posedge clk_i) if (valid_i) sums_q <= total_d;
  end else begin : gen_memory
    (* ram_style = "distributed" *) logic [Lanes*SumBits-1:0] sums[Tiles];
    assign stored = sums[SumTileBits'(tile_i)];
    always_ff @(posedge clk_i) if (valid_i) sums[SumTileBits'(tile_i)] <= total_d;
  end
  always_ff @(posedge clk_i) begin
    row_o <= valid_i && last_i && !rst_i;
    sum_o <= total_d;
  end
endmodule

`default_nettype wire
