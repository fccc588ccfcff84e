// One registered product in LUTs.

`default_nettype none

module fgnas_multiplier_fabric #(
  parameter int unsigned LeftBits  = 8,
  parameter int unsigned RightBits = 8
) (
  input  wire                                       clk_i,
  input  wire signed  [LeftBits-1:0]                left_i,
  input  wire signed  [RightBits-1:0]               right_i,
  output logic signed [LeftBits+RightBits-1:0]      product_o
);
  (* use_dsp = "no" *) logic signed [LeftBits+RightBits-1:0] product_q;
  always_ff @(posedge clk_i) product_q <= left_i * right_i;
  assign product_o = product_q;
endmodule

`default_nettype wire
