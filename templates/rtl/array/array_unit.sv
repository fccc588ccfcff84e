// One unit: its memories, its multipliers, a sum for each lane, the epilogue, and a queue of results. Each is a module
// of its own, whose name begins with this one's; here they meet, cycle by cycle.
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
  parameter bit          OwnBlock        = 1'b1,  // own rows are in block RAM
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
  /* verilator lint_off UNUSEDPARAM */  // an engine without partial sums or without attention has none
  parameter bit          PartialBlock    = 1'b0,  // partial sums are in block RAM
  parameter int unsigned ExponentBits    = 9,   // of the table of exponentials
  parameter bit          Symmetric       = 1'b0,  // scores of both ways round
  parameter bit          Dot             = 1'b0,  // scores of edges
  parameter bit          Pair            = 1'b0,  // which can be made of functions of two nodes' features
  parameter int unsigned Neighbours      = 0,   // nearest points of a row, at most; none are found without
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
  output logic                                     over_o,
  // Nearest points, one after the other.
  output logic                                     index_valid_o,
  output logic [array_pkg::IndexBits-1:0]          index_o,
  output logic                                     row_done_o
);
  import array_pkg::*;
  localparam int unsigned LeftBits = Bits + ((Neighbours > 0) ? 1 : 0);  // of a word's lane, or of a difference
  localparam int unsigned ProductBits = LeftBits + ValueBits;
  localparam int unsigned YBits = SumBits + MostLeft + 1;
  localparam int unsigned ResultWidth = fgnas_pkg::WordBits;
  localparam int unsigned Wait = Softmax ? 3 : 0;  // cycles in which a coefficient is worked out
  localparam int unsigned Further = (PartialWords > 0) ? 1 : 0;  // in which a total goes on from a partial sum
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

  // What is written must have a place.
  logic over_table, over_own, over_bias, over_activation, over_residual, over_partial;
  always_ff @(posedge clk_i) begin
    over_o <= (over_table || over_own || over_residual || over_partial || over_bias || over_activation) && !rst_i;
  end

  // The control moves along; tiles are needed where sums and biases are.
  logic [4+Wait+Further:0][TileBits-1:0] tile_q;  // of the cycles behind the first
  logic [2+Wait:0] valid_q, first_q, last_q;
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

  // Cycle 1: addresses. Cycle 2: memories.
  logic [WordBits-1:0] table_word, own_word, own_result;
  logic adds;  // an own row is added to a finished one
  logic [AddressBits-1:0] added_address;
  array_unit_table #(
    .WordBits(WordBits), .TableWords(TableWords), .Banks(Banks), .Results(Results), .Shared(Shared)
  ) u_table (
    .clk_i(clk_i), .load_i(load_i && d_i.target == 3'(TargetTable)), .load_address_i(load_address_i),
    .load_count_i(load_count_i), .load_word_i(load_word_i), .write_i(table_write_i),
    .write_address_i(table_address_i), .write_word_i(table_word_i), .read_address_i(address_i), .word_o(table_word),
    .over_o(over_table)
  );
  array_unit_own #(
    .WordBits(WordBits), .OwnWords(OwnWords), .Block(OwnBlock), .Softmax(Softmax), .Dot(Dot), .Pair(Pair)
  ) u_own (
    .clk_i(clk_i), .start_i(start_i), .d_i(d_i), .pop_i(pop_i), .result_i(own_result), .load_i(load_i),
    .load_address_i(load_address_i), .load_word_i(load_word_i[0]), .scores_i(scores), .messages_i(messages),
    .queries_i(queries), .dots_i(dots), .valid_i(valid_i), .last_i(last_i), .ends_i(ends_i), .score_i(score_i),
    .tile_i(tile_i), .vector_first_i(first_q[2]), .vector_tile_i(tile_q[2]), .own_address_i(own_address_i),
    .adds_i(adds), .added_address_i(added_address), .word_o(own_word), .over_o(over_own)
  );

  // Cycle 3: operands.
  logic dense;
  logic [$clog2(Lanes)-1:0] lane_q;
  logic [Lanes*LeftBits-1:0] word_q;
  logic signed [ValueBits-1:0] stream_q, value_q;
  logic signed [Bits-1:0] element;
  assign dense = d_i.operation == 2'(OperationDense);
  always_comb begin
    element = '0;
    for (int unsigned l = 0; l < Lanes; l++) if (32'(lane_q) == l) element = own_word[l*Bits+:Bits];
  end
  // With nearest points a word is the lanes' differences, which are squared.
  logic samples;
  logic [Lanes*LeftBits-1:0] left;
  if (Neighbours > 0) begin : gen_differences
    assign samples = dense && d_i.sample != '0;
    for (genvar l = 0; l < Lanes; l++) begin : gen_lane
      logic signed [LeftBits-1:0] here, there;
      assign here  = samples ? LeftBits'(signed'(own_word[l*Bits+:Bits])) : '0;
      assign there = LeftBits'(signed'(table_word[l*Bits+:Bits]));
      assign left[l*LeftBits+:LeftBits] = samples ? here - there : there;
    end
  end else begin : gen_words
    assign samples = 1'b0;
    assign left    = table_word;
  end
  always_ff @(posedge clk_i) begin
    lane_q   <= lane_i;
    stream_q <= value_i;
    word_q   <= left;
    value_q  <= dense ? ValueBits'(element) : stream_q;
  end

  // With attention a coefficient takes Wait cycles more, and its word waits for it; scores have products of their own.
  logic [Lanes*LeftBits-1:0] multiplied;
  logic [Lanes-1:0][ValueBits-1:0] values;
  /* verilator lint_off UNUSEDSIGNAL */  // without attention there are no scores
  logic [Lanes-1:0][ProductBits-1:0] product;
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
    for (genvar l = 0; l < Lanes; l++) begin : gen_lane
      assign values[l] = samples ? ValueBits'(signed'(word_q[l*LeftBits+:LeftBits])) : value_q;
    end
    assign {scored, score, best, divisor} = '0;
  end

  // Cycle 4: products meet the sums.
  array_unit_sums #(
    .Bits(LeftBits), .SumBits(SumBits), .Tiles(Tiles), .Maximum(Maximum), .Softmax(Softmax), .Symmetric(Symmetric)
  ) u_sums (
    .clk_i(clk_i), .rst_i(rst_i), .d_i(d_i), .word_i(multiplied), .values_i(values), .product_o(product),
    .valid_i(valid && !samples), .first_i(first), .last_i(last), .tile_i(tile_q[2+Wait]), .scores_i(scores),
    .maxima_i(maxima), .scored_i(scored), .score_i(score), .best_i(best), .row_o(row_o), .sum_o(sum_o)
  );

  if (Neighbours > 0) begin : gen_chain
    array_chain #(.ProductBits(ProductBits), .Places(Neighbours)) u_chain (
      .clk_i(clk_i), .rst_i(rst_i), .start_i(start_i), .places_i(d_i.bias_base), .square_i(product),
      .valid_i(valid && samples), .first_i(tile_q[2+Wait] == '0), .ends_i(tile_q[2+Wait] == d_i.tiles - 1'b1),
      .last_i(last), .valid_o(index_valid_o), .index_o(index_o), .done_o(row_done_o)
    );
  end else begin : gen_no_chain
    assign {index_valid_o, index_o, row_done_o} = '0;
  end

  // Cycle 6 of an engine that keeps partial sums.
  logic total_valid;
  logic [Lanes-1:0][SumBits-1:0] total;
  /* verilator lint_off UNUSEDSIGNAL */  // without attention there is none
  logic [DenominatorBits-1:0] total_divisor;
  /* verilator lint_on UNUSEDSIGNAL */
  if (PartialWords > 0) begin : gen_partial
    array_unit_partial #(
      .SumBits(SumBits), .PartialWords(PartialWords), .Block(PartialBlock), .Maximum(Maximum),
      .DenominatorBits(DenominatorBits)
    ) u_partial (
      .clk_i(clk_i), .rst_i(rst_i), .start_i(start_i), .d_i(d_i), .valid_i(total_valid_i), .total_i(total_i),
      .divisor_i(divisor), .valid_o(total_valid), .total_o(total), .divisor_o(total_divisor), .over_o(over_partial)
    );
  end else begin : gen_no_partial
    assign over_partial  = 1'b0;
    assign total_valid   = total_valid_i;
    assign total         = total_i;
    assign total_divisor = divisor;
  end

  // The lanes that are finished next, the word of the row they belong to, and their part of it.
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
    array_unit_parts #(
      .SumBits(SumBits), .Finished(Finished), .QueueWords(QueueWords), .Softmax(Softmax),
      .DenominatorBits(DenominatorBits)
    ) u_parts (
      .clk_i(clk_i), .rst_i(rst_i), .start_i(start_i), .d_i(d_i), .valid_i(total_valid), .total_i(total),
      .divisor_i(total_divisor), .valid_o(lanes_valid), .lanes_o(lanes), .tile_o(lanes_tile), .part_o(lanes_part),
      .divisor_o(lanes_divisor)
    );
  end

  // Cycles 6 and 7: shift and bias; cycle 8: the activation.
  /* verilator lint_off UNUSEDSIGNAL */  // for a residual
  logic quotient_valid;
  /* verilator lint_on UNUSEDSIGNAL */
  logic u_valid_q, z_valid_q;
  logic signed [ResultWidth-1:0] largest;
  logic [Finished-1:0][ResultWidth-1:0] u_q, z_q;
  array_unit_finish #(
    .Bits(Bits), .SumBits(SumBits), .YBits(YBits), .Shifts(Shifts), .ShiftBy(ShiftBy), .BiasWords(BiasWords),
    .Finished(Finished), .Softmax(Softmax), .DenominatorBits(DenominatorBits), .Negates(Neighbours > 0)
  ) u_finish (
    .clk_i(clk_i), .rst_i(rst_i), .d_i(d_i), .load_i(load_i), .load_address_i(load_address_i),
    .load_word_i(load_word_i[0]), .valid_i(lanes_valid), .lanes_i(lanes), .tile_i(lanes_tile), .part_i(lanes_part),
    .messages_i(messages), .divisor_i(lanes_divisor), .quotient_o(quotient_valid), .valid_o(u_valid_q), .lanes_o(u_q),
    .largest_o(largest), .over_o(over_bias)
  );
  array_unit_activation #(
    .Bits(Bits), .ActivationWords(ActivationWords), .Finished(Finished)
  ) u_activation (
    .clk_i(clk_i), .rst_i(rst_i), .d_i(d_i), .load_i(load_i), .load_address_i(load_address_i),
    .load_word_i(load_word_i[0]), .valid_i(u_valid_q), .lanes_i(u_q), .largest_i(largest), .valid_o(z_valid_q),
    .lanes_o(z_q), .over_o(over_activation)
  );

  // Cycle 9: an own row is added.
  logic result_valid;
  logic [Lanes-1:0][ResultWidth-1:0] result;
  if (Residual) begin : gen_residual
    array_unit_residual #(
      .Bits(Bits), .YBits(YBits), .Shifts(Shifts), .ShiftBy(ShiftBy), .OwnWords(OwnWords), .Subtracts(Neighbours > 0)
    ) u_residual (
      .clk_i(clk_i), .rst_i(rst_i), .start_i(start_i), .d_i(d_i), .next_i(quotient_valid), .adds_o(adds),
      .address_o(added_address), .own_i(own_word), .valid_i(z_valid_q), .word_i(z_q), .largest_i(largest),
      .valid_o(result_valid), .word_o(result), .over_o(over_residual)
    );
  end else begin : gen_no_residual
    assign {adds, added_address, over_residual} = '0;
    if (Parts == 1) begin : gen_result
      assign result_valid = z_valid_q;
      assign result       = z_q;
    end else begin : gen_collect
      array_unit_collect #(.Finished(Finished)) u_collect (
        .clk_i(clk_i), .rst_i(rst_i), .valid_i(z_valid_q), .lanes_i(z_q), .valid_o(result_valid), .word_o(result)
      );
    end
  end

  // Cycle 9 or 10: into the queue, with its last part.
  array_unit_queue #(.QueueWords(QueueWords)) u_queue (
    .clk_i(clk_i), .rst_i(rst_i), .valid_i(result_valid), .word_i(result), .ready_o(ready_o), .head_o(head_o),
    .pop_i(pop_i)
  );
  for (genvar l = 0; l < Lanes; l++) begin : gen_own
    assign own_result[l*Bits+:Bits] = head_o[l*ResultWidth+:Bits];
  end
endmodule

`default_nettype wire
