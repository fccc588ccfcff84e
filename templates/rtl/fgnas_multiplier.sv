// A product in a DSP slice or in LUTs; one cycle.

`default_nettype none

module fgnas_multiplier #(
  parameter int unsigned LeftBits  = 8,
  parameter int unsigned RightBits = 8,
  parameter bit          UseDsp    = 1'b1
) (
  input  wire                                       clk_i,
  input  wire signed  [LeftBits-1:0]                left_i,
  input  wire signed  [RightBits-1:0]               right_i,
  output logic signed [LeftBits+RightBits-1:0]      product_o
);
  if (UseDsp) begin : gen_dsp
    fgnas_multiplier_dsp #(.LeftBits(LeftBits), .RightBits(RightBits)) u_product (.*);
  end else begin : gen_fabric
    fgnas_multiplier_fabric #(.LeftBits(LeftBits), .RightBits(RightBits)) u_product (.*);
  end
endmodule

`default_nettype wire
