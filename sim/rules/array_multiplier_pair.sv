// The rule of two products in one slice: each is that of its own operands, a cycle before.

`default_nettype none

module array_multiplier_pair_rules #(
  parameter int unsigned LeftBits  = 8,
  parameter int unsigned RightBits = 11,
  localparam int unsigned ProductBits = LeftBits + RightBits
) (
  input wire                          clk_i,
  input wire signed [LeftBits-1:0]    lower_i,
  input wire signed [LeftBits-1:0]    upper_i,
  input wire signed [RightBits-1:0]   right_i,
  input wire signed [ProductBits-1:0] lower_o,
  input wire signed [ProductBits-1:0] upper_o
);
  logic signed [ProductBits-1:0] lower_q, upper_q;
  logic begun_q = 1'b0;
  always_ff @(posedge clk_i) begin
    begun_q <= 1'b1;
    lower_q <= lower_i * right_i;
    upper_q <= upper_i * right_i;
    if (begun_q) begin
      lower: assert (lower_o == lower_q) else $error("the lower product is not that of its operands");
      upper: assert (upper_o == upper_q) else $error("the upper product is not that of its operands");
    end
  end
endmodule

bind array_multiplier_pair array_multiplier_pair_rules #(.LeftBits(LeftBits), .RightBits(RightBits)) u_rules (
  .clk_i(clk_i), .lower_i(lower_i), .upper_i(upper_i), .right_i(right_i), .lower_o(lower_o), .upper_o(upper_o)
);

`default_nettype wire
