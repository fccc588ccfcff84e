// The own rows of a unit: where its results and the words of a load are written, and which word is read. With attention
// they hold vectors, queries, scores of edges and the largest scores of rows, too.

`default_nettype none

module array_unit_own #(
  parameter int unsigned WordBits = 64,
  parameter int unsigned OwnWords = 512,
  parameter bit          Block    = 1'b1,  // they are in block RAM
  parameter bit          Softmax  = 1'b0,  // attention with scores
  parameter bit          Dot      = 1'b0,  // scores of edges
  parameter bit          Pair     = 1'b0   // which can be made of functions of two nodes' features
) (
  input  wire                                clk_i,
  input  wire                                start_i,
  /* verilator lint_off UNUSEDSIGNAL */  // most fields belong to other modules
  input  wire  array_pkg::descriptor_t       d_i,
  /* verilator lint_on UNUSEDSIGNAL */
  // Words that are written: results one after the other, and loads.
  input  wire                                pop_i,           // the unit's next result leaves its queue
  input  wire  [WordBits-1:0]                result_i,
  /* verilator lint_off UNUSEDSIGNAL */  // an engine without attention loads none, and reads what the issue says
  input  wire                                load_i,
  input  wire  [array_pkg::AddressBits-1:0]  load_address_i,
  input  wire  [WordBits-1:0]                load_word_i,
  // The step of an attention, and the word that meets what the issue sends.
  input  wire                                scores_i,
  input  wire                                messages_i,
  input  wire                                queries_i,
  input  wire                                dots_i,
  input  wire                                valid_i,
  input  wire                                last_i,
  input  wire                                ends_i,
  input  wire                                score_i,
  input  wire  [array_pkg::TileBits-1:0]     tile_i,
  input  wire                                vector_first_i,  // of the entry whose word meets the vector
  input  wire  [array_pkg::TileBits-1:0]     vector_tile_i,
  input  wire  [array_pkg::AddressBits-1:0]  own_address_i,
  // An own row that is added to a finished one comes before them.
  input  wire                                adds_i,
  input  wire  [array_pkg::AddressBits-1:0]  added_address_i,
  /* verilator lint_on UNUSEDSIGNAL */
  output logic [WordBits-1:0]                word_o,          // two cycles later
  output logic                               over_o           // what is written has no place
);
  import array_pkg::*;
  localparam int unsigned OwnBits = $clog2(OwnWords);

  logic load_own, own_write, over_result;
  logic [AddressBits-1:0] own_write_q, step_q;  // step_q: from a row's last word to the next row
  logic [TileBits-1:0] own_tile_q, last_tile_q;
  logic to_own_q;
  logic own_ends;  // the row's last word of this pass: the words of other passes lie before the next row's
  assign load_own    = Softmax && load_i && d_i.target == 3'(TargetOwn);
  assign own_write   = pop_i && to_own_q;
  assign over_result = own_write && 32'(own_write_q) >= OwnWords;
  assign over_o      = over_result || (load_own && 32'(load_address_i) >= OwnWords);
  assign own_ends    = own_tile_q == last_tile_q;
  // Facts of the descriptor, which are there before it begins.
  always_ff @(posedge clk_i) begin
    to_own_q    <= d_i.target == 3'(TargetOwn);
    last_tile_q <= d_i.tiles - 1'b1;
    step_q      <= AddressBits'(d_i.target_tiles - d_i.tiles) + 1'b1;
  end
  always_ff @(posedge clk_i) begin
    if (own_write) begin
      own_tile_q  <= own_ends ? '0 : own_tile_q + 1'b1;
      own_write_q <= own_write_q + (own_ends ? step_q : AddressBits'(1));
    end
    if (start_i) begin
      own_tile_q  <= '0;
      own_write_q <= d_i.target_base;
    end
  end

  logic [WordBits-1:0] own_data;
  logic own_enable;
  logic [OwnBits-1:0] own_to, own_from, own_read;
  if (Softmax) begin : gen_own_loads
    // Messages read the largest scores of the row that the unit is at; scores of edges read its query.
    logic [AddressBits-1:0] row_at_q;
    if (Dot) begin : gen_rows_or_queries
      logic row_ends, of_edges;
      logic [OwnBits-1:0] vector_at;
      assign of_edges = dots_i && scores_i;
      assign row_ends = of_edges ? ends_i : valid_i && last_i && tile_i == last_tile_q;
      always_ff @(posedge clk_i) begin
        if (row_ends) row_at_q <= row_at_q + (of_edges ? AddressBits'(d_i.entries) : AddressBits'(1));
        // The largest scores lie behind those of all slot rows.
        if (start_i) row_at_q <= d_i.own_base + ((dots_i && messages_i) ? AddressBits'(d_i.count) : '0);
      end
      if (Pair) begin : gen_vectors
        // A row's first entry has the first vector, the other one the second.
        assign vector_at = OwnBits'(d_i.own_base) + ((d_i.pair != '0 && !vector_first_i) ? OwnBits'(d_i.tiles) : '0);
      end else begin : gen_vector
        assign vector_at = OwnBits'(d_i.own_base);
      end
      always_comb begin
        own_from = OwnBits'(own_address_i);
        if (of_edges) own_from = OwnBits'(row_at_q) + OwnBits'(own_address_i);
        // The vector meets a word of H as soon as that has passed the coefficients.
        else if (queries_i) own_from = vector_at + OwnBits'(vector_tile_i);
        else if (messages_i && !(dots_i && score_i)) own_from = OwnBits'(row_at_q);
      end
    end else begin : gen_rows
      always_ff @(posedge clk_i) begin
        if (valid_i && last_i && tile_i == last_tile_q) row_at_q <= row_at_q + 1'b1;
        if (start_i) row_at_q <= d_i.own_base;
      end
      assign own_from = messages_i ? OwnBits'(row_at_q) : OwnBits'(own_address_i);
    end
    assign own_enable = (own_write && !over_result) || (load_own && 32'(load_address_i) < OwnWords);
    assign own_to     = load_own ? OwnBits'(load_address_i) : OwnBits'(own_write_q);
    assign own_data   = load_own ? load_word_i : result_i;
  end else begin : gen_own_results
    assign own_enable = own_write && !over_result;
    assign own_to     = OwnBits'(own_write_q);
    assign own_data   = result_i;
    assign own_from   = OwnBits'(own_address_i);
  end
  assign own_read = adds_i ? OwnBits'(added_address_i) : own_from;
  if (Block) begin : gen_block
    array_unit_bank #(.Depth(OwnWords), .Width(WordBits)) u_rows (
      .clk_i(clk_i), .write_i(own_enable), .write_address_i(own_to), .write_data_i(own_data),
      .read_address_i(own_read), .read_data_o(word_o)
    );
  end else begin : gen_distributed
    logic [WordBits-1:0] read;
    fgnas_distributed_ram #(.Depth(OwnWords), .Width(WordBits)) u_rows (
      .clk_i(clk_i), .write_i(own_enable), .write_address_i(own_to), .write_data_i(own_data),
      .read_address_i(own_read), .read_data_o(read)
    );
    always_ff @(posedge clk_i) word_o <= read;
  end
endmodule

`default_nettype wire
