// The rules of roots: what leaves the digits is the root of the square that entered, rounded down, and its rest; no sum
// overflows.

`default_nettype none

module array_root_rules #(
  parameter int unsigned RootBits = 12,
  parameter int unsigned SumBits  = 28
) (
  input wire                                   clk_i,
  input wire                                   rst_i,
  input wire                                   start_i,
  input wire                                   valid_i,
  input wire [2*RootBits-1:0]                  square_i,
  input wire                                   found_i,
  input wire [RootBits-1:0]                    root_i,
  input wire [RootBits:0]                      rest_i,
  input wire                                   adds_i,
  input wire signed [SumBits-1:0]              total_i,
  input wire signed [SumBits-1:0]              message_i
);
  logic [RootBits-1:0][2*RootBits-1:0] waiting_q;
  logic signed [SumBits:0] sum;
  assign sum = (SumBits + 1)'(total_i) + (SumBits + 1)'(message_i);
  always_ff @(posedge clk_i) begin
    waiting_q <= {waiting_q[RootBits-2:0], square_i};
    if (!rst_i) begin
      exact: assert (!found_i || 64'(root_i) * 64'(root_i) + 64'(rest_i) == 64'(waiting_q[RootBits-1]))
        else $error("a root and its rest are not those of the square");
      largest: assert (!found_i || 64'(rest_i) <= 2 * 64'(root_i)) else $error("a root is too small");
      room: assert (!adds_i || sum == (SumBits + 1)'(signed'(sum[SumBits-1:0]))) else $error("a sum of roots overflows");
      apart: assert (!(start_i && valid_i)) else $error("a descriptor begins while distances are measured");
    end
  end
endmodule

bind array_root array_root_rules #(.RootBits(RootBits), .SumBits(SumBits)) u_rules (
  .clk_i(clk_i), .rst_i(rst_i), .start_i(start_i), .valid_i(valid_i), .square_i(square_q[0]),
  .found_i(valid_q[RootBits-1]), .root_i(root_q[RootBits]), .rest_i(rest_q[RootBits]),
  .adds_i(valid_q[RootBits+1] && !fresh_q && !largest_i), .total_i(total_o), .message_i(message)
);

`default_nettype wire
