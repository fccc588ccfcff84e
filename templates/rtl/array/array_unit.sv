// One unit: its memories, its multipliers, a sum for each lane, the epilogue, and a queue of results.
//
// In each cycle one word of the table meets one value. At a row's end the sums leave to `sum_o`; the units of a group
// add theirs, and the total comes back a cycle later. The epilogue shifts, adds the bias, saturates and applies the
// activation.

`default_nettype none

module array_unit #(
  parameter int unsigned Bits            = 8,
  parameter int unsigned TableWords      = 1024,
  parameter int unsigned Banks           = 1,   // of the table, by the last bits of an address
  parameter int unsigned OwnWords        = 512,
  parameter int unsigned BiasWords       = 2,
  parameter int unsigned ActivationWords = 0,
  parameter int unsigned Tiles           = 1,
  parameter int unsigned SumBits         = 28,
  parameter int unsigned Shifts          = 2,
  parameter logic signed [Shifts-1:0][7:0] ShiftBy = '0,
  parameter int unsigned MostLeft        = 0,   // the largest left shift
  parameter bit          Maximum         = 1'b0,
  parameter int unsigned QueueWords      = 32,
  parameter int unsigned Finished        = array_pkg::Lanes,  // lanes of a total that are finished in a cycle
  parameter int unsigned Results         = 1,   // words that are written into the table in a cycle, of different banks
  parameter bit          Softmax         = 1'b0,  // attention with scores
  parameter bit          Residual        = 1'b0,  // finished rows can add own rows
  parameter int unsigned PartialWords    = 0,   // of sums that are not finished
  parameter bit          Shared          = 1'b0,  // the table is another module, whose words come as table_word_i
  parameter int unsigned DenominatorBits = 16,  // of a row's sum of coefficients
  /* verilator lint_off UNUSEDPARAM */  // an engine without attention has none
  parameter int unsigned ExponentBits    = 9,   // of the table of exponentials
  parameter bit          Symmetric       = 1'b0,  // scores of both ways round
  parameter bit          Dot             = 1'b0,  // scores of edges
  parameter bit          Pair            = 1'b0,  // which can be made of functions of two nodes' features
  /* verilator lint_on UNUSEDPARAM */
  localparam int unsigned WordBits = array_pkg::Lanes * Bits
) (
  input  wire                                      clk_i,
  input  wire                                      rst_i,
  input  wire                                      start_i,
  /* verilator lint_off UNUSEDSIGNAL */  // most fields belong to other modules
  input  wire  array_pkg::descriptor_t             d_i,
  /* verilator lint_on UNUSEDSIGNAL */
  input  wire                                      valid_i,
  input  wire                                      first_i,
  input  wire                                      last_i,
  input  wire  [array_pkg::TileBits-1:0]           tile_i,
  /* verilator lint_off UNUSEDSIGNAL */  // memories may be small
  input  wire  [array_pkg::AddressBits-1:0]        address_i,
  input  wire  [array_pkg::ValueBits-1:0]          value_i,
  input  wire  [array_pkg::AddressBits-1:0]        own_address_i,
  /* verilator lint_on UNUSEDSIGNAL */
  input  wire  [$clog2(array_pkg::Lanes)-1:0]      lane_i,
  /* verilator lint_off UNUSEDSIGNAL */  // an engine without attention has no scores
  input  wire                                      score_i,
  input  wire                                      ends_i,
  /* verilator lint_on UNUSEDSIGNAL */
  input  wire                                      load_i,
  input  wire  [array_pkg::AddressBits-1:0]        load_address_i,
  input  wire  [$clog2(Banks):0]                   load_count_i,
  /* verilator lint_off UNUSEDSIGNAL */  // a shared table is loaded beside the units
  input  wire  [Banks-1:0][WordBits-1:0]           load_word_i,
  input  wire  [Results-1:0]                       table_write_i,
  input  wire  [Results-1:0][array_pkg::AddressBits-1:0] table_address_i,
  input  wire  [Results-1:0][WordBits-1:0]         table_word_i,
  /* verilator lint_on UNUSEDSIGNAL */
  output logic                                     row_o,
  output logic [array_pkg::Lanes-1:0][SumBits-1:0] sum_o,
  input  wire                                      total_valid_i,
  input  wire  [array_pkg::Lanes-1:0][SumBits-1:0] total_i,
  output logic                                     ready_o,
  output logic [array_pkg::ResultBits-1:0]         head_o,
  input  wire                                      pop_i,
  output logic                                     over_o
);
  import array_pkg::*;
  localparam int unsigned TableBits = $clog2(TableWords);
  localparam int unsigned OwnBits = $clog2(OwnWords);
  localparam int unsigned BiasBits = (BiasWords > 1) ? $clog2(BiasWords) : 1;
  localparam int unsigned SumTileBits = (Tiles > 1) ? $clog2(Tiles) : 1;
  localparam int unsigned QueueBits = $clog2(QueueWords);
  localparam int unsigned ProductBits = Bits + ValueBits;
  localparam int unsigned YBits = SumBits + MostLeft + 1;
  localparam int unsigned ResultWidth = fgnas_pkg::WordBits;
  localparam int unsigned Fine = fgnas_pkg::LogitExtraBits;
  localparam int unsigned QuotientBits = Bits + Fine;
  localparam int unsigned Wait = Softmax ? 3 : 0;  // cycles in which a coefficient is worked out
  localparam int unsigned Further = (PartialWords > 0) ? 1 : 0;  // in which a total goes on from a partial sum
  localparam int unsigned Divides = QuotientBits + 3;
  localparam int unsigned Parts = Lanes / Finished;  // of a total
  localparam int unsigned PartBits = (Parts > 1) ? $clog2(Parts) : 1;

  // The steps of an attention; never without it.
  /* verilator lint_off UNUSEDSIGNAL */
  logic scores, maxima, messages, queries, dots;
  /* verilator lint_on UNUSEDSIGNAL */
  if (Softmax) begin : gen_steps
    logic attends;
    assign attends  = d_i.operation == 2'(OperationAttend);
    assign scores   = attends && d_i.attention == 2'(AttentionScores);
    assign maxima   = attends && d_i.attention == 2'(AttentionMaxima);
    assign messages = attends && d_i.attention == 2'(AttentionMessages);
    assign dots     = Dot && attends && d_i.dot != '0;
    assign queries  = dots && d_i.attention == 2'(AttentionQueries);
  end else begin : gen_no_steps
    assign {scores, maxima, messages, queries, dots} = '0;
  end

  // Writes: words that are loaded, results of any unit for the table, and own results for the own rows.
  logic load_table, load_bias, load_own, own_write, over_table, over_own, over_residual, over_partial;
  logic [AddressBits-1:0] own_write_q;
  logic [TileBits-1:0] own_tile_q;
  logic own_ends;  // the row's last word of this pass: the words of other passes lie before the next row's
  assign load_table = load_i && d_i.target == 3'(TargetTable);
  assign load_bias  = load_i && d_i.target == 3'(TargetBias);
  assign load_own   = Softmax && load_i && d_i.target == 3'(TargetOwn);
  assign own_write  = pop_i && d_i.target == 3'(TargetOwn);
  always_comb begin
    over_table = 1'b0;
    for (int unsigned r = 0; r < Results; r++) begin
      if (table_write_i[r] && 32'(table_address_i[r]) >= TableWords) over_table = 1'b1;
    end
    if (load_table) over_table = 32'(load_address_i) + 32'(load_count_i) > TableWords;
  end
  assign over_own   = own_write && 32'(own_write_q) >= OwnWords;
  assign own_ends   = own_tile_q == d_i.tiles - 1'b1;
  always_ff @(posedge clk_i) begin
    over_o <= (over_table || over_own || over_residual || over_partial ||
               (load_own && 32'(load_address_i) >= OwnWords) || (load_bias && 32'(load_address_i) >= BiasWords) ||
               (load_i && d_i.target == 3'(TargetActivation) && 32'(load_address_i) + 1 > ActivationWords)) && !rst_i;
    if (own_write) begin
      own_tile_q  <= own_ends ? '0 : own_tile_q + 1'b1;
      own_write_q <= own_write_q + (own_ends ? AddressBits'(d_i.target_tiles - d_i.tiles) : '0) + 1'b1;
    end
    if (start_i) begin
      own_tile_q  <= '0;
      own_write_q <= d_i.target_base;
    end
  end

  // Cycle 1: addresses. Cycle 2: memories. Cycle 3: operands.
  logic [WordBits-1:0] table_word, own_word;
  if (Shared) begin : gen_shared
    assign table_word = table_word_i[0];
  end else if (Banks == 1) begin : gen_one_bank
    fgnas_block_ram #(.Depth(TableWords), .Width(WordBits)) u_table (
      .clk_i(clk_i), .write_i((load_table || table_write_i[0]) && !over_table),
      .write_address_i(load_table ? TableBits'(load_address_i) : TableBits'(table_address_i[0])),
      .write_data_i(load_table ? load_word_i : table_word_i[0]),
      .read_address_i(TableBits'(address_i)), .read_data_o(table_word)
    );
  end else begin : gen_banks
    localparam int unsigned LogBanks = $clog2(Banks);
    logic [Banks-1:0][WordBits-1:0] read;
    logic [LogBanks-1:0] read_bank_q;
    always_ff @(posedge clk_i) read_bank_q <= address_i[LogBanks-1:0];
    always_comb begin
      table_word = '0;
      for (int unsigned b = 0; b < Banks; b++) if (32'(read_bank_q) == b) table_word = read[b];
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
      assign loaded     = load_table && (LogBanks + 1)'(word) < load_count_i;
      // The result for this bank; no two of a cycle are for the same.
      /* verilator lint_off UNUSEDSIGNAL */  // the last bits name the bank
      logic [AddressBits-1:0] result_address;
      /* verilator lint_on UNUSEDSIGNAL */
      logic [WordBits-1:0] result_word;
      always_comb begin
        written        = 1'b0;
        result_address = table_address_i[0];
        result_word    = table_word_i[0];
        for (int unsigned r = 0; r < Results; r++) begin
          if (table_write_i[r] && table_address_i[r][LogBanks-1:0] == LogBanks'(b)) begin
            written        = 1'b1;
            result_address = table_address_i[r];
            result_word    = table_word_i[r];
          end
        end
      end
      fgnas_block_ram #(.Depth(TableWords / Banks), .Width(WordBits)) u_table (
        .clk_i(clk_i), .write_i((loaded || written) && !over_table),
        .write_address_i(loaded ? load_place[TableBits-1:LogBanks] : result_address[TableBits-1:LogBanks]),
        .write_data_i(loaded ? load_word_i[word] : result_word),
        .read_address_i(address_i[TableBits-1:LogBanks]), .read_data_o(read[b])
      );
    end
  end
  logic [4+Wait+Further:0][TileBits-1:0] tile_q;  // of the cycles behind the first
  logic [2+Wait:0] valid_q, first_q, last_q;
  logic [WordBits-1:0] own_result, own_data;
  logic own_enable;
  logic [OwnBits-1:0] own_to, own_from, own_read;
  if (Softmax) begin : gen_own_loads
    // Messages read the largest scores of the row that the unit is at; scores of edges read its query.
    logic [AddressBits-1:0] row_at_q;
    if (Dot) begin : gen_rows_or_queries
      logic row_ends, of_edges;
      logic [OwnBits-1:0] vector_at;
      assign of_edges = dots && scores;
      assign row_ends = of_edges ? ends_i : valid_i && last_i && tile_i == d_i.tiles - 1'b1;
      always_ff @(posedge clk_i) begin
        if (row_ends) row_at_q <= row_at_q + (of_edges ? AddressBits'(d_i.entries) : AddressBits'(1));
        // The largest scores lie behind those of all slot rows.
        if (start_i) row_at_q <= d_i.own_base + ((dots && messages) ? AddressBits'(d_i.count) : '0);
      end
      if (Pair) begin : gen_vectors
        // A row's first entry has the first vector, the other one the second.
        assign vector_at = OwnBits'(d_i.own_base) + ((d_i.pair != '0 && !first_q[2]) ? OwnBits'(d_i.tiles) : '0);
      end else begin : gen_vector
        assign vector_at = OwnBits'(d_i.own_base);
      end
      always_comb begin
        own_from = OwnBits'(own_address_i);
        if (of_edges) own_from = OwnBits'(row_at_q) + OwnBits'(own_address_i);
        // The vector meets a word of H in cycle 6.
        else if (queries) own_from = vector_at + OwnBits'(tile_q[2]);
        else if (messages && !(dots && score_i)) own_from = OwnBits'(row_at_q);
      end
    end else begin : gen_rows
      always_ff @(posedge clk_i) begin
        if (valid_i && last_i && tile_i == d_i.tiles - 1'b1) row_at_q <= row_at_q + 1'b1;
        if (start_i) row_at_q <= d_i.own_base;
      end
      assign own_from = messages ? OwnBits'(row_at_q) : OwnBits'(own_address_i);
    end
    assign own_enable = (own_write && !over_own) || (load_own && 32'(load_address_i) < OwnWords);
    assign own_to     = load_own ? OwnBits'(load_address_i) : OwnBits'(own_write_q);
    assign own_data   = load_own ? load_word_i[0] : own_result;
  end else begin : gen_own_results
    assign own_enable = own_write && !over_own;
    assign own_to     = OwnBits'(own_write_q);
    assign own_data   = own_result;
    assign own_from   = OwnBits'(own_address_i);
  end
  if (OwnWords > 64) begin : gen_block
    fgnas_block_ram #(.Depth(OwnWords), .Width(WordBits)) u_own (
      .clk_i(clk_i), .write_i(own_enable), .write_address_i(own_to), .write_data_i(own_data),
      .read_address_i(own_read), .read_data_o(own_word)
    );
  end else begin : gen_distributed
    fgnas_distributed_ram #(.Depth(OwnWords), .Width(WordBits)) u_own (
      .clk_i(clk_i), .write_i(own_enable), .write_address_i(own_to), .write_data_i(own_data),
      .read_address_i(own_read), .read_data_o(own_word)
    );
  end

  logic dense;
  logic [$clog2(Lanes)-1:0] lane_q;
  logic [WordBits-1:0] word_q;
  logic signed [ValueBits-1:0] stream_q, value_q;
  logic signed [Bits-1:0] element;
  assign dense = d_i.operation == 2'(OperationDense);
  always_comb begin
    element = '0;
    for (int unsigned l = 0; l < Lanes; l++) if (32'(lane_q) == l) element = own_word[l*Bits+:Bits];
  end
  always_ff @(posedge clk_i) begin
    lane_q   <= lane_i;
    stream_q <= value_i;
    word_q   <= table_word;
    value_q  <= dense ? ValueBits'(element) : stream_q;
  end

  // The control moves along; tiles are needed where sums and biases are.
  logic valid, first, last;  // of the products
  assign valid = valid_q[2+Wait];
  assign first = first_q[2+Wait];
  assign last  = last_q[2+Wait];
  always_ff @(posedge clk_i) begin
    valid_q <= rst_i ? '0 : {valid_q[1+Wait:0], valid_i};
    first_q <= {first_q[1+Wait:0], first_i};
    last_q  <= {last_q[1+Wait:0], last_i};
    tile_q  <= {tile_q[3+Wait+Further:0], tile_i};
  end

  // With attention a coefficient takes Wait cycles more, and its word waits for it; scores have products of their own.
  logic [WordBits-1:0] multiplied;
  logic [Lanes-1:0][ValueBits-1:0] values;
  logic [Lanes-1:0][ProductBits-1:0] product;
  /* verilator lint_off UNUSEDSIGNAL */  // without attention there are none
  logic [Lanes-1:0] scored;                         // the lane of a word of scores that its product belongs to
  logic signed [SumBits-1:0] score;
  logic [Heads-1:0] best;                           // heads whose source is the row's best yet
  logic [DenominatorBits-1:0] divisor;              // of the shifted total
  /* verilator lint_on UNUSEDSIGNAL */
  if (Softmax) begin : gen_coefficient
    array_coefficient #(
      .Bits(Bits), .SumBits(SumBits), .Tiles(Tiles), .DenominatorBits(DenominatorBits), .ExponentBits(ExponentBits),
      .Symmetric(Symmetric), .Dot(Dot)
    ) u_coefficient (
      .clk_i(clk_i), .scores_i(scores), .maxima_i(maxima), .messages_i(messages), .shift_i(d_i.exponent_shift),
      .symmetric_i(d_i.symmetric[0]), .dot_i(dots), .queries_i(queries), .score_i(score_i), .lane_i(lane_i),
      .word_i(word_q), .own_i(own_word), .value_i(value_q), .fresh_i(first_q[1]), .word_o(multiplied),
      .values_o(values), .product_i(product), .lane_o(scored), .score_o(score), .best_o(best), .valid_i(valid),
      .first_i(first), .tile_i(tile_q[2+Wait]), .divisor_o(divisor)
    );
  end else begin : gen_value
    assign multiplied = word_q;
    assign values     = {Lanes{value_q}};
    assign {scored, score, best, divisor} = '0;
  end

  // Cycle 4: products meet the sums. A tile's sum is read, updated and written back within a cycle.
  logic [Lanes-1:0][SumBits-1:0] stored, total_d;
  for (genvar l = 0; l < Lanes; l++) begin : gen_lane
    fgnas_multiplier #(.LeftBits(Bits), .RightBits(ValueBits), .UseDsp(1'b1)) u_multiplier (
      .clk_i(clk_i), .left_i(multiplied[l*Bits+:Bits]), .right_i(values[l]), .product_o(product[l])
    );
    logic signed [SumBits-1:0] message;
    if (Softmax) begin : gen_score
      assign message = !scores ? SumBits'(signed'(product[l])) : scored[l] ? score : '0;
    end else begin : gen_message
      assign message = SumBits'(signed'(product[l]));
    end
    // The message is the left operand: only the right one has a choice before the adder, so that both share their LUTs.
    logic [SumBits-1:0] earlier;
    assign earlier = first ? '0 : stored[l];
    always_comb begin
      if (!first && Symmetric && maxima && d_i.symmetric != '0) total_d[l] = best[l%Heads] ? message : stored[l];
      else if (!first && maxima && l >= Heads) total_d[l] = stored[l];  // of the node itself, whose entry comes first
      else if (Maximum && d_i.reduce != '0) begin
        total_d[l] = (first || message > signed'(stored[l])) ? message : stored[l];
      end else total_d[l] = message + earlier;
    end
  end
  if (Tiles == 1) begin : gen_register
    logic [Lanes-1:0][SumBits-1:0] sums_q;
    assign stored = sums_q;
    always_ff @(posedge clk_i) if (valid) sums_q <= total_d;
  end else begin : gen_memory
    (* ram_style = "distributed" *) logic [Lanes*SumBits-1:0] sums[Tiles];
    assign stored = sums[SumTileBits'(tile_q[2+Wait])];
    always_ff @(posedge clk_i) if (valid) sums[SumTileBits'(tile_q[2+Wait])] <= total_d;
  end
  always_ff @(posedge clk_i) begin
    row_o <= valid && last && !rst_i;
    sum_o <= total_d;
  end

  // Cycle 6 of an engine that keeps partial sums: a row's total goes on from the partial one. Partial sums lie behind
  // each other as rows end, so that the memory reads ahead.
  logic total_valid;
  logic [Lanes-1:0][SumBits-1:0] total;
  /* verilator lint_off UNUSEDSIGNAL */  // without attention there is none
  logic [DenominatorBits-1:0] total_divisor;
  /* verilator lint_on UNUSEDSIGNAL */
  if (PartialWords > 0) begin : gen_partial
    localparam int unsigned PartialBits = (PartialWords > 1) ? $clog2(PartialWords) : 1;
    logic [AddressBits:0] place_q;  // of the next total
    logic [PartialBits-1:0] kept_place_q;
    logic total_valid_q, fits_q, keeps;
    logic [Lanes-1:0][SumBits-1:0] kept, onwards, total_q;
    logic [DenominatorBits-1:0] divisor_q;
    logic [PartialBits-1:0] read_place;
    assign keeps         = d_i.target == 3'(TargetPartial);
    assign read_place    = PartialBits'(place_q) + PartialBits'(total_valid_i);
    assign over_partial  = total_valid_q && !fits_q && (keeps || d_i.accumulate != '0);
    assign total_valid   = total_valid_q;
    assign total         = total_q;
    assign total_divisor = divisor_q;
    for (genvar l = 0; l < Lanes; l++) begin : gen_onwards
      always_comb begin
        if (d_i.accumulate == '0) onwards[l] = total_i[l];
        else if (!Maximum || d_i.reduce == '0) onwards[l] = total_i[l] + kept[l];
        else onwards[l] = (signed'(total_i[l]) > signed'(kept[l])) ? total_i[l] : kept[l];
      end
    end
    always_ff @(posedge clk_i) begin
      total_valid_q <= total_valid_i && !rst_i;
      total_q       <= onwards;
      divisor_q     <= divisor;
      kept_place_q  <= PartialBits'(place_q);
      fits_q        <= 32'(place_q) < PartialWords;
      if (total_valid_i) place_q <= place_q + 1'b1;
      if (start_i) place_q <= '0;
    end
    if (PartialWords > 64) begin : gen_kept_block
      fgnas_block_ram #(.Depth(PartialWords), .Width(Lanes * SumBits)) u_partial (
        .clk_i(clk_i), .write_i(total_valid_q && keeps && fits_q), .write_address_i(kept_place_q),
        .write_data_i(total_q), .read_address_i(read_place), .read_data_o(kept)
      );
    end else begin : gen_kept_distributed
      fgnas_distributed_ram #(.Depth(PartialWords), .Width(Lanes * SumBits)) u_partial (
        .clk_i(clk_i), .write_i(total_valid_q && keeps && fits_q), .write_address_i(kept_place_q),
        .write_data_i(total_q), .read_address_i(read_place), .read_data_o(kept)
      );
    end
  end else begin : gen_no_partial
    assign over_partial  = 1'b0;
    assign total_valid   = total_valid_i;
    assign total         = total_i;
    assign total_divisor = divisor;
  end

  // The lanes that are finished next, the word of the row they belong to, and their part of it. Where that is not the
  // whole word, totals wait for their turn in a queue; the issue keeps a place for every row.
  logic [Finished-1:0][SumBits-1:0] lanes;
  logic lanes_valid;
  logic [TileBits-1:0] lanes_tile;
  logic [PartBits-1:0] lanes_part;
  /* verilator lint_off UNUSEDSIGNAL */  // without attention nothing is divided
  logic [DenominatorBits-1:0] lanes_divisor;  // a cycle later
  /* verilator lint_on UNUSEDSIGNAL */
  if (Parts == 1) begin : gen_whole
    assign lanes         = total;
    assign lanes_valid   = total_valid;
    assign lanes_tile    = tile_q[4+Wait+Further];
    assign lanes_part    = '0;
    assign lanes_divisor = total_divisor;
  end else begin : gen_parts
    (* ram_style = "distributed" *) logic [Lanes*SumBits-1:0] totals[QueueWords];
    logic [Parts-1:0][Finished-1:0][SumBits-1:0] oldest;
    logic [QueueBits-1:0] to_q, from_q;
    logic [QueueBits:0] waiting_q;
    logic [TileBits-1:0] at_q;
    logic [PartBits-1:0] part_q;
    logic done;
    assign oldest      = totals[from_q];
    assign lanes       = oldest[part_q];
    assign lanes_valid = waiting_q != '0;
    assign lanes_tile  = at_q;
    assign lanes_part  = part_q;
    assign done        = lanes_valid && 32'(part_q) == Parts - 1;
    always_ff @(posedge clk_i) begin
      if (total_valid_i) totals[to_q] <= total;
      if (total_valid) to_q <= to_q + 1'b1;
      if (done) from_q <= from_q + 1'b1;
      if (done) at_q <= (at_q == d_i.tiles - 1'b1) ? '0 : at_q + 1'b1;
      if (lanes_valid) part_q <= part_q + 1'b1;
      waiting_q <= waiting_q + (QueueBits + 1)'(total_valid) - (QueueBits + 1)'(done);
      if (start_i) at_q <= '0;
      if (rst_i) begin
        to_q      <= '0;
        from_q    <= '0;
        part_q    <= '0;
        waiting_q <= '0;
      end
    end
    if (Softmax) begin : gen_divisors
      // The divisor of a total comes a cycle behind it.
      (* ram_style = "distributed" *) logic [DenominatorBits-1:0] divisors[QueueWords];
      logic [QueueBits-1:0] divisor_to_q, divisor_from_q;
      logic divisor_valid_q;
      assign lanes_divisor = divisors[divisor_from_q];
      always_ff @(posedge clk_i) begin
        if (divisor_valid_q) divisors[divisor_to_q] <= total_divisor;
        divisor_valid_q <= total_valid && !rst_i;
        divisor_to_q    <= to_q;
        divisor_from_q  <= from_q;
      end
    end else begin : gen_no_divisors
      assign lanes_divisor = '0;
    end
  end

  // A total, or an own number, shifted by the shift with a number: rounded to nearest, ties to even.
  function automatic logic [YBits-1:0] aligned(input logic signed [YBits-1:0] value,
                                              input logic [$bits(d_i.shift)-1:0] number);
    logic signed [YBits-1:0] shifted;
    logic up;
    shifted = value;
    up      = 1'b0;
    for (int unsigned s = 0; s < Shifts; s++) begin
      if (32'(number) == s) begin
        if (signed'(ShiftBy[s]) <= 0) begin
          shifted = value <<< (-signed'(ShiftBy[s]));
        end else begin
          automatic int unsigned right = 32'(ShiftBy[s]);
          automatic logic signed [YBits-1:0] rest = value & YBits'((64'd1 << (right - 1)) - 64'd1);
          shifted = value >>> right;
          up      = value[right-1] && (rest != '0 || shifted[0]);
        end
      end
    end
    aligned = shifted + YBits'({1'b0, up});
  endfunction

  // Cycle 6: the total is shifted. The bias is read.
  logic [Finished-1:0][YBits-1:0] y_d, y_q;
  (* ram_style = "distributed" *) logic [WordBits-1:0] biases[BiasWords];
  logic [Parts-1:0][Finished*Bits-1:0] bias_word;
  logic [Finished*Bits-1:0] bias_q;
  logic y_valid_q, u_valid_q, z_valid_q, quotient_valid;
  /* verilator lint_off UNUSEDSIGNAL */  // there may be few tiles
  logic [TileBits-1:0] bias_tile;
  /* verilator lint_on UNUSEDSIGNAL */
  logic [PartBits-1:0] bias_part;
  for (genvar l = 0; l < Finished; l++) begin : gen_shift
    assign y_d[l] = aligned(YBits'(signed'(lanes[l])), d_i.shift);
  end
  assign bias_word = biases[BiasBits'(d_i.bias_base) + BiasBits'(bias_tile)];
  always_ff @(posedge clk_i) begin
    if (load_bias) biases[BiasBits'(load_address_i)] <= load_word_i[0];
    bias_q    <= (d_i.bias != '0) ? bias_word[bias_part] : '0;
    y_q       <= y_d;
    y_valid_q <= lanes_valid && !rst_i;
    u_valid_q <= quotient_valid && !rst_i;
    z_valid_q <= u_valid_q && !rst_i;
  end

  // Messages are divided by the row's coefficients; the bias waits.
  logic [Finished-1:0][YBits-1:0] quotient;
  if (Softmax) begin : gen_divide
    logic [Divides-1:0] divided_q;
    logic [Divides-1:0][TileBits-1:0] waiting_q;
    logic [Divides-1:0][PartBits-1:0] part_q;
    always_ff @(posedge clk_i) begin
      divided_q <= rst_i ? '0 : {divided_q[Divides-2:0], y_valid_q && messages};
      waiting_q <= {waiting_q[Divides-2:0], lanes_tile};
      part_q    <= {part_q[Divides-2:0], lanes_part};
    end
    assign bias_tile      = messages ? waiting_q[Divides-1] : lanes_tile;
    assign bias_part      = messages ? part_q[Divides-1] : lanes_part;
    assign quotient_valid = messages ? divided_q[Divides-1] : y_valid_q;
    for (genvar l = 0; l < Finished; l++) begin : gen_quotient
      logic signed [QuotientBits:0] found;
      fgnas_divider #(
        .NumeratorBits(YBits), .DenominatorBits(DenominatorBits), .QuotientBits(QuotientBits)
      ) u_divider (
        .clk_i(clk_i), .numerator_i(y_q[l]), .denominator_i(lanes_divisor), .quotient_o(found)
      );
      assign quotient[l] = messages ? YBits'(found) : y_q[l];
    end
  end else begin : gen_undivided
    assign bias_tile      = lanes_tile;
    assign bias_part      = lanes_part;
    assign quotient_valid = y_valid_q;
    assign quotient       = y_q;
  end

  // Cycle 7: the bias is added, and the result saturates to the descriptor's width.
  logic signed [ResultWidth-1:0] largest;
  logic [Finished-1:0][ResultWidth-1:0] u_q, z_q;
  assign largest = ResultWidth'((17'd1 << (d_i.bits - 1'b1)) - 17'd1);
  for (genvar l = 0; l < Finished; l++) begin : gen_saturate
    logic signed [Bits+Fine-1:0] bias;
    logic signed [YBits:0] u;
    assign bias = (d_i.bias_fine != '0) ? (Bits + Fine)'(signed'(bias_q[l*Bits+:Bits])) <<< Fine
                                        : (Bits + Fine)'(signed'(bias_q[l*Bits+:Bits]));
    assign u    = (YBits + 1)'(signed'(quotient[l])) + (YBits + 1)'(bias);
    always_ff @(posedge clk_i) begin
      if (u > (YBits + 1)'(largest)) u_q[l] <= largest;
      else if (u < (YBits + 1)'(~largest)) u_q[l] <= ~largest;
      else u_q[l] <= u[ResultWidth-1:0];
    end
  end

  // Cycle 8: the activation.
  logic [Finished-1:0][ResultWidth-1:0] z_d;
  if (ActivationWords > 0) begin : gen_table
    localparam int unsigned ActivationBits = (ActivationWords > 1) ? $clog2(ActivationWords) : 1;
    (* ram_style = "distributed" *) logic [WordBits-1:0] codes[ActivationWords];
    always_ff @(posedge clk_i) begin
      if (load_i && d_i.target == 3'(TargetActivation)) codes[ActivationBits'(load_address_i)] <= load_word_i[0];
    end
    for (genvar l = 0; l < Finished; l++) begin : gen_lookup
      logic [ResultWidth-1:0] place;
      logic [WordBits-1:0] word;
      logic signed [Bits-1:0] code;
      assign place = u_q[l] & {largest[ResultWidth-2:0], 1'b1};
      assign word  = codes[ActivationBits'(d_i.activation_base) + ActivationBits'(place >> $clog2(Lanes))];
      always_comb begin
        code = '0;
        for (int unsigned c = 0; c < Lanes; c++) begin
          if (32'(place[$clog2(Lanes)-1:0]) == c) code = word[c*Bits+:Bits];
        end
      end
      always_comb begin
        unique case (d_i.activation)
          2'(ActivationRelu):  z_d[l] = u_q[l][ResultWidth-1] ? '0 : u_q[l];
          2'(ActivationTable): z_d[l] = ResultWidth'(code);
          default:             z_d[l] = u_q[l];
        endcase
      end
    end
  end else begin : gen_relu
    for (genvar l = 0; l < Finished; l++) begin : gen_lookup
      assign z_d[l] = (d_i.activation == 2'(ActivationRelu) && u_q[l][ResultWidth-1]) ? '0 : u_q[l];
    end
  end
  always_ff @(posedge clk_i) z_q <= z_d;

  // Cycle 9: an own row is added, whose words are read one after the other as rows are finished, and aligned beside the
  // activation; the sum saturates to the descriptor's width.
  logic result_valid;
  logic [Lanes-1:0][ResultWidth-1:0] result;
  if (Residual) begin : gen_residual
    logic [AddressBits-1:0] own_at_q;
    logic [TileBits-1:0] at_tile_q;
    logic adds, row_ends, result_valid_q;
    logic [Lanes-1:0][YBits-1:0] own_q;
    logic [Lanes-1:0][ResultWidth-1:0] result_q;
    assign adds          = d_i.residual != '0;
    assign row_ends      = at_tile_q == d_i.tiles - 1'b1;
    assign own_read      = adds ? OwnBits'(own_at_q) : own_from;
    assign over_residual = adds && quotient_valid && 32'(own_at_q) >= OwnWords;
    assign result_valid  = result_valid_q;
    assign result        = result_q;
    always_ff @(posedge clk_i) begin
      if (quotient_valid) begin
        at_tile_q <= row_ends ? '0 : at_tile_q + 1'b1;
        own_at_q  <= own_at_q + (row_ends ? AddressBits'(d_i.target_tiles - d_i.tiles) : '0) + 1'b1;
      end
      if (start_i) begin
        at_tile_q <= '0;
        own_at_q  <= d_i.own_base;
      end
      result_valid_q <= z_valid_q && !rst_i;
    end
    for (genvar l = 0; l < Lanes; l++) begin : gen_add
      localparam int unsigned BothBits = (YBits > ResultWidth ? YBits : ResultWidth) + 1;
      logic signed [BothBits-1:0] both;
      assign both = BothBits'(signed'(z_q[l])) + BothBits'(signed'(own_q[l]));
      always_ff @(posedge clk_i) begin
        own_q[l] <= adds ? aligned(YBits'(signed'(own_word[l*Bits+:Bits])), d_i.residual_shift) : '0;
        if (both > BothBits'(largest)) result_q[l] <= largest;
        else if (both < BothBits'(~largest)) result_q[l] <= ~largest;
        else result_q[l] <= both[ResultWidth-1:0];
      end
    end
  end else begin : gen_no_residual
    assign own_read      = own_from;
    assign over_residual = 1'b0;
    if (Parts == 1) begin : gen_result
      assign result_valid = z_valid_q;
      assign result       = z_q;
    end else begin : gen_collect
      logic [Parts-2:0][Finished-1:0][ResultWidth-1:0] earlier_q;
      logic [PartBits-1:0] count_q;
      assign result_valid = z_valid_q && 32'(count_q) == Parts - 1;
      assign result       = {z_q, earlier_q};
      always_ff @(posedge clk_i) begin
        if (z_valid_q) earlier_q[count_q] <= z_q;
        if (z_valid_q) count_q <= count_q + 1'b1;
        if (rst_i) count_q <= '0;
      end
    end
  end

  // Cycle 9 or 10: into the queue, with its last part. The issue keeps a place for every row: it never overflows.
  (* ram_style = "distributed" *) logic [ResultBits-1:0] queue[QueueWords];
  logic [QueueBits-1:0] write_q, read_q;
  logic [QueueBits:0] words_q;
  assign ready_o = words_q != '0;
  assign head_o  = queue[read_q];
  for (genvar l = 0; l < Lanes; l++) begin : gen_own
    assign own_result[l*Bits+:Bits] = head_o[l*ResultWidth+:Bits];
  end
  always_ff @(posedge clk_i) begin
    if (result_valid) queue[write_q] <= result;
    if (result_valid) write_q <= write_q + 1'b1;
    if (pop_i) read_q <= read_q + 1'b1;
    words_q <= words_q + (QueueBits + 1)'(result_valid) - (QueueBits + 1)'(pop_i);
    if (rst_i) begin
      write_q <= '0;
      read_q  <= '0;
      words_q <= '0;
    end
  end
endmodule

`default_nettype wire
