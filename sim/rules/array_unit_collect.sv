// The rules of collected parts: the parts of words follow each other, so that none begins within another's.

`default_nettype none

module array_unit_collect_rules #(
  parameter int unsigned Parts = 2
) (
  input wire                     clk_i,
  input wire                     rst_i,
  input wire                     valid_i,
  input wire                     whole_i,
  input wire [$clog2(Parts)-1:0] count_q_i
);
  logic [$clog2(Parts):0] since_q;  // parts since the last whole word
  always_ff @(posedge clk_i) begin
    if (valid_i) since_q <= whole_i ? '0 : since_q + 1'b1;
    if (rst_i) since_q <= '0;
    if (!rst_i) begin
      counted: assert (since_q == ($clog2(Parts) + 1)'(count_q_i)) else $error("parts of two words are mixed");
      last: assert (!whole_i || 32'(since_q) == Parts - 1) else $error("a word is there before its last part");
    end
  end
endmodule

bind array_unit_collect array_unit_collect_rules #(.Parts(Parts)) u_rules (
  .clk_i(clk_i), .rst_i(rst_i), .valid_i(valid_i), .whole_i(valid_o), .count_q_i(count_q)
);

`default_nettype wire
