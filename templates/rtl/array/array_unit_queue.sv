// The queue of a unit's results. The issue keeps a place for every row: it never overflows.

`default_nettype none

module array_unit_queue #(
  parameter int unsigned QueueWords = 32
) (
  input  wire                              clk_i,
  input  wire                              rst_i,
  input  wire                              valid_i,
  input  wire  [array_pkg::ResultBits-1:0] word_i,
  output logic                             ready_o,
  output logic [array_pkg::ResultBits-1:0] head_o,
  input  wire                              pop_i
);
  localparam int unsigned QueueBits = $clog2(QueueWords);
  (* ram_style = "distributed" *) logic [array_pkg::ResultBits-1:0] queue[QueueWords];
  logic [QueueBits-1:0] write_q, read_q;
  logic [QueueBits:0] words_q;
  logic ready_q;
  assign ready_o = ready_q;
  assign head_o  = queue[read_q];
  always_ff @(posedge clk_i) begin
    if (valid_i) queue[write_q] <= word_i;
    if (valid_i) write_q <= write_q + 1'b1;
    if (pop_i) read_q <= read_q + 1'b1;
    words_q <= words_q + (QueueBits + 1)'(valid_i) - (QueueBits + 1)'(pop_i);
    ready_q <= valid_i || 32'(words_q) > 1 || (32'(words_q) == 1 && !pop_i);
    if (rst_i) begin
      write_q <= '0;
      read_q  <= '0;
      words_q <= '0;
      ready_q <= 1'b0;
    end
  end
endmodule

`default_nettype wire
