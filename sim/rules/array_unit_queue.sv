// The rules of a unit's queue of results.

`default_nettype none

module array_unit_queue_rules #(
  parameter int unsigned QueueWords = 32
) (
  input wire                        clk_i,
  input wire                        rst_i,
  input wire                        valid_i,
  input wire                        pop_i,
  input wire                        ready_i,
  input wire [$clog2(QueueWords):0] words_q_i
);
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      room: assert (!valid_i || pop_i || 32'(words_q_i) < QueueWords) else $error("a queue of results overflows");
      some: assert (!pop_i || words_q_i != '0) else $error("an empty queue gives a result");
      told: assert (ready_i == (words_q_i != '0)) else $error("a queue does not say whether it has a result");
    end
  end
endmodule

bind array_unit_queue array_unit_queue_rules #(.QueueWords(QueueWords)) u_rules (
  .clk_i(clk_i), .rst_i(rst_i), .valid_i(valid_i), .pop_i(pop_i), .ready_i(ready_o), .words_q_i(words_q)
);

`default_nettype wire
