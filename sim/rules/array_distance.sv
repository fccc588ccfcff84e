// The rules of squared distances: the words of a row come in order, and no distance overflows.

`default_nettype none

module array_distance_rules #(
  parameter int unsigned DistanceBits = 24
) (
  input wire                     clk_i,
  input wire                     rst_i,
  input wire                     added_i,
  input wire                     first_i,
  input wire [DistanceBits-1:0]  sum_i,
  input wire [DistanceBits-1:0]  distance_i
);
  always_ff @(posedge clk_i) begin
    if (!rst_i && added_i && !first_i) begin
      room: assert (sum_i <= ~distance_i) else $error("a squared distance overflows");
    end
  end
endmodule

bind array_distance array_distance_rules #(.DistanceBits(DistanceBits)) u_rules (
  .clk_i(clk_i), .rst_i(rst_i), .added_i(added_q[1]), .first_i(added_first_q[1]), .sum_i(sum_q), .distance_i(distance_o)
);

`default_nettype wire
