// The rules of a unit of the array: what may be written into its table in a cycle, and what its queue holds.

`default_nettype none

module array_unit_rules #(
  parameter int unsigned Banks      = 1,
  parameter int unsigned Results    = 1,
  parameter int unsigned QueueWords = 32
) (
  input wire                                             clk_i,
  input wire                                             rst_i,
  input wire                                             load_table_i,
  input wire [Results-1:0]                               table_write_i,
  input wire [Results-1:0][array_pkg::AddressBits-1:0]   table_address_i,
  input wire                                             queued_i,
  input wire                                             pop_i,
  input wire [$clog2(QueueWords):0]                      words_q_i
);
  logic same_bank;
  always_comb begin
    same_bank = 1'b0;
    for (int unsigned r = 0; r < Results; r++) begin
      for (int unsigned other = 0; other < r; other++) begin
        if (table_write_i[r] && table_write_i[other] &&
            32'(table_address_i[r]) % Banks == 32'(table_address_i[other]) % Banks) same_bank = 1'b1;
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      different_banks: assert (!same_bank) else $error("two results of a cycle are for one bank of a table");
      one_source: assert (!(load_table_i && table_write_i != '0)) else $error("a load meets results");
      room: assert (!queued_i || pop_i || 32'(words_q_i) < QueueWords) else $error("a queue of results overflows");
      some: assert (!pop_i || words_q_i != '0) else $error("an empty queue gives a result");
    end
  end
endmodule

bind array_unit array_unit_rules #(.Banks(Banks), .Results(Results), .QueueWords(QueueWords)) u_rules (
  .clk_i(clk_i), .rst_i(rst_i), .load_table_i(load_table), .table_write_i(table_write_i),
  .table_address_i(table_address_i), .queued_i(result_valid), .pop_i(pop_i), .words_q_i(words_q)
);

`default_nettype wire
