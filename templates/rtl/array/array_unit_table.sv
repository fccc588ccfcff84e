// The table of a unit: banks by the last bits of an address, what a load or the results of a cycle write into them, and
// the word that is read, two cycles later: a bank has a register behind it.
//
// A load has the word that each bank may take. So has the bus of results, but for the first result: where it comes
// alone, it may be for any bank.

`default_nettype none

module array_unit_table #(
  parameter int unsigned WordBits   = 64,
  parameter int unsigned TableWords = 1024,
  parameter int unsigned Banks      = 1,
  parameter int unsigned Results    = 1,     // words that are written in a cycle, of different banks
  parameter bit          Shared     = 1'b0   // the words are in another module, which gives them as write_word_i
) (
  /* verilator lint_off UNUSEDSIGNAL */  // a shared table is written and read beside the units; memories may be small
  input  wire                                            clk_i,
  input  wire                                            load_i,
  input  wire  [array_pkg::AddressBits-1:0]              load_address_i,
  input  wire  [$clog2(Banks):0]                         load_count_i,
  input  wire  [Banks-1:0][WordBits-1:0]                 load_word_i,
  input  wire  [Results-1:0]                             write_i,
  input  wire  [Results-1:0][array_pkg::AddressBits-1:0] write_address_i,
  input  wire  [Results-1:0][WordBits-1:0]               write_word_i,
  input  wire  [array_pkg::AddressBits-1:0]              read_address_i,
  /* verilator lint_on UNUSEDSIGNAL */
  output logic [WordBits-1:0]                            word_o,  // two cycles later
  output logic                                           over_o   // what is written has no place
);
  import array_pkg::*;
  localparam int unsigned TableBits = $clog2(TableWords);
  always_comb begin
    over_o = 1'b0;
    for (int unsigned r = 0; r < Results; r++) begin
      if (write_i[r] && 32'(write_address_i[r]) >= TableWords) over_o = 1'b1;
    end
    if (load_i) over_o = 32'(load_address_i) + 32'(load_count_i) > TableWords;
  end

  if (Shared) begin : gen_shared
    assign word_o = write_word_i[0];
  end else if (Banks == 1) begin : gen_one_bank
    array_unit_bank #(.Depth(TableWords), .Width(WordBits)) u_table (
      .clk_i(clk_i), .write_i((load_i || write_i[0]) && !over_o),
      .write_address_i(load_i ? TableBits'(load_address_i) : TableBits'(write_address_i[0])),
      .write_data_i(load_i ? load_word_i : write_word_i[0]),
      .read_address_i(TableBits'(read_address_i)), .read_data_o(word_o)
    );
  end else begin : gen_banks
    localparam int unsigned LogBanks = $clog2(Banks);
    logic [Banks-1:0][WordBits-1:0] read;
    logic [1:0][LogBanks-1:0] bank_q;
    assign word_o = read[bank_q[1]];
    always_ff @(posedge clk_i) bank_q <= {bank_q[0], read_address_i[LogBanks-1:0]};
    for (genvar b = 0; b < Banks; b++) begin : gen_bank
      localparam int unsigned Own = b % Results;  // the result that it may take
      // Banks from the load's first: its words do not pass the last bank.
      logic [LogBanks-1:0] behind;
      logic loaded, own, first;
      /* verilator lint_off UNUSEDSIGNAL */  // the last bits name the bank
      logic [AddressBits-1:0] address;
      /* verilator lint_on UNUSEDSIGNAL */
      assign behind  = LogBanks'(b) - load_address_i[LogBanks-1:0];
      assign loaded  = load_i && (LogBanks + 1)'(behind) < load_count_i;
      assign own     = write_i[Own] && write_address_i[Own][LogBanks-1:0] == LogBanks'(b);
      assign first   = write_i[0] && write_address_i[0][LogBanks-1:0] == LogBanks'(b);
      assign address = load_i ? load_address_i : own ? write_address_i[Own] : write_address_i[0];
      array_unit_bank #(.Depth(TableWords / Banks), .Width(WordBits)) u_table (
        .clk_i(clk_i), .write_i((loaded || own || first) && !over_o), .write_address_i(address[TableBits-1:LogBanks]),
        .write_data_i(load_i ? load_word_i[b] : own ? write_word_i[Own] : write_word_i[0]),
        .read_address_i(read_address_i[TableBits-1:LogBanks]), .read_data_o(read[b])
      );
    end
  end
endmodule

`default_nettype wire
