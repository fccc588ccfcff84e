// The rules of totals that are finished part by part: their queue has room, and a descriptor begins with none.

`default_nettype none

module array_unit_parts_rules #(
  parameter int unsigned QueueWords = 32
) (
  input wire                        clk_i,
  input wire                        rst_i,
  input wire                        start_i,
  input wire                        valid_i,
  input wire                        done_i,
  input wire [$clog2(QueueWords):0] waiting_q_i
);
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      room: assert (!valid_i || done_i || 32'(waiting_q_i) < QueueWords) else $error("a queue of totals overflows");
      at_rest: assert (!start_i || waiting_q_i == '0) else $error("a descriptor begins before the last has ended");
    end
  end
endmodule

bind array_unit_parts array_unit_parts_rules #(.QueueWords(QueueWords)) u_rules (
  .clk_i(clk_i), .rst_i(rst_i), .start_i(start_i), .valid_i(valid_i), .done_i(done), .waiting_q_i(waiting_q)
);

`default_nettype wire
