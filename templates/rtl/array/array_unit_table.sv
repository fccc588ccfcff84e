// The table of a unit: banks by the last bits of an address, what a load or the results of a cycle write into them, and
// the word that is read, a cycle later.

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
  output logic [WordBits-1:0]                            word_o,
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
    fgnas_block_ram #(.Depth(TableWords), .Width(WordBits)) u_table (
      .clk_i(clk_i), .write_i((load_i || write_i[0]) && !over_o),
      .write_address_i(load_i ? TableBits'(load_address_i) : TableBits'(write_address_i[0])),
      .write_data_i(load_i ? load_word_i : write_word_i[0]),
      .read_address_i(TableBits'(read_address_i)), .read_data_o(word_o)
    );
  end else begin : gen_banks
    localparam int unsigned LogBanks = $clog2(Banks);
    logic [Banks-1:0][WordBits-1:0] read;
    logic [LogBanks-1:0] read_bank_q;
    always_ff @(posedge clk_i) read_bank_q <= read_address_i[LogBanks-1:0];
    always_comb begin
      word_o = '0;
      for (int unsigned b = 0; b < Banks; b++) if (32'(read_bank_q) == b) word_o = read[b];
    end
    for (genvar b = 0; b < Banks; b++) begin : gen_bank
      // The word that a load has for this bank, counted from the load's first.
      logic [LogBanks-1:0] word;
      /* verilator lint_off UNUSEDSIGNAL */  // the last bits name the bank
      logic [TableBits-1:0] load_place;
      /* verilator lint_on UNUSEDSIGNAL */
      logic loaded, written;
      assign word       = LogBanks'(b) - load_address_i[LogBanks-1:0];
      assign load_place = TableBits'(load_address_i) + TableBits'(word);
      assign loaded     = load_i && (LogBanks + 1)'(word) < load_count_i;
      // The result for this bank; no two of a cycle are for the same.
      /* verilator lint_off UNUSEDSIGNAL */  // the last bits name the bank
      logic [AddressBits-1:0] result_address;
      /* verilator lint_on UNUSEDSIGNAL */
      logic [WordBits-1:0] result_word;
      always_comb begin
        written        = 1'b0;
        result_address = write_address_i[0];
        result_word    = write_word_i[0];
        for (int unsigned r = 0; r < Results; r++) begin
          if (write_i[r] && write_address_i[r][LogBanks-1:0] == LogBanks'(b)) begin
            written        = 1'b1;
            result_address = write_address_i[r];
            result_word    = write_word_i[r];
          end
        end
      end
      fgnas_block_ram #(.Depth(TableWords / Banks), .Width(WordBits)) u_table (
        .clk_i(clk_i), .write_i((loaded || written) && !over_o),
        .write_address_i(loaded ? load_place[TableBits-1:LogBanks] : result_address[TableBits-1:LogBanks]),
        .write_data_i(loaded ? load_word_i[word] : result_word),
        .read_address_i(read_address_i[TableBits-1:LogBanks]), .read_data_o(read[b])
      );
    end
  end
endmodule

`default_nettype wire
