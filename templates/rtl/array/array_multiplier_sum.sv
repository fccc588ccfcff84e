// A lane's multiplier and its sum in one DSP slice: a product is a cycle behind its operands, and valid_i and first_i
// belong to it; the sum follows a cycle later.

`default_nettype none

module array_multiplier_sum #(
  parameter int unsigned LeftBits  = 8,
  parameter int unsigned RightBits = 8,
  parameter int unsigned SumBits   = 28
) (
  input  wire                         clk_i,
  input  wire  signed [LeftBits-1:0]  left_i,
  input  wire  signed [RightBits-1:0] right_i,
  input  wire                         valid_i,
  input  wire                         first_i,  // the product begins a sum
  output logic signed [SumBits-1:0]   sum_o
);
  /* verilator lint_off UNUSEDSIGNAL */  // sums may need fewer bits than the largest product
  logic signed [LeftBits+RightBits-1:0] product_q;
  /* verilator lint_on UNUSEDSIGNAL */
  (* use_dsp = "yes" *) logic signed [SumBits-1:0] sum_q;
  logic signed [SumBits-1:0] earlier;
  assign earlier = first_i ? '0 : sum_q;
  assign sum_o   = sum_q;
  always_ff @(posedge clk_i) begin
    product_q <= left_i * right_i;
    if (valid_i) sum_q <= SumBits'(product_q) + earlier;
  end
endmodule

`default_nettype wire
