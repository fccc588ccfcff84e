// The rules of a unit's table: what may be written into it in a cycle.

`default_nettype none

module array_unit_table_rules #(
  parameter int unsigned Banks   = 1,
  parameter int unsigned Results = 1
) (
  input wire                                           clk_i,
  input wire                                           load_i,
  input wire [array_pkg::AddressBits-1:0]              load_address_i,
  input wire [$clog2(Banks):0]                         load_count_i,
  input wire [Results-1:0]                             write_i,
  input wire [Results-1:0][array_pkg::AddressBits-1:0] write_address_i
);
  logic [Results-1:0] other_place;  // results that are not for the banks that take them; the first one may come alone
  always_comb begin
    for (int unsigned r = 0; r < Results; r++) begin
      other_place[r] = write_i[r] && 32'(write_address_i[r]) % Results != r && (r != 0 || (write_i >> 1) != '0);
    end
  end
  always_ff @(posedge clk_i) begin
    own_banks: assert (other_place == '0) else $error("a result is not for the banks that may take it");
    within_banks: assert (!load_i || 32'(load_address_i) % Banks + 32'(load_count_i) <= Banks)
    else $error("a load's words pass the last bank");
    one_source: assert (!(load_i && write_i != '0)) else $error("a load meets results");
  end
endmodule

bind array_unit_table array_unit_table_rules #(.Banks(Banks), .Results(Results)) u_rules (
  .clk_i(clk_i), .load_i(load_i), .load_address_i(load_address_i), .load_count_i(load_count_i),
  .write_i(write_i), .write_address_i(write_address_i)
);

`default_nettype wire
