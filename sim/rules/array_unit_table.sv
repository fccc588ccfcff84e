// The rules of a unit's table: what may be written into it in a cycle.

`default_nettype none

module array_unit_table_rules #(
  parameter int unsigned Banks   = 1,
  parameter int unsigned Results = 1
) (
  input wire                                           clk_i,
  input wire                                           load_i,
  input wire [Results-1:0]                             write_i,
  input wire [Results-1:0][array_pkg::AddressBits-1:0] write_address_i
);
  logic same_bank;
  always_comb begin
    same_bank = 1'b0;
    for (int unsigned r = 0; r < Results; r++) begin
      for (int unsigned other = 0; other < r; other++) begin
        if (write_i[r] && write_i[other] &&
            32'(write_address_i[r]) % Banks == 32'(write_address_i[other]) % Banks) same_bank = 1'b1;
      end
    end
  end
  always_ff @(posedge clk_i) begin
    different_banks: assert (!same_bank) else $error("two results of a cycle are for one bank of a table");
    one_source: assert (!(load_i && write_i != '0)) else $error("a load meets results");
  end
endmodule

bind array_unit_table array_unit_table_rules #(.Banks(Banks), .Results(Results)) u_rules (
  .clk_i(clk_i), .load_i(load_i), .write_i(write_i), .write_address_i(write_address_i)
);

`default_nettype wire
