// Main memory in block RAM behind an AXI4 port. It times every beat as the reference memory of the simulations does, so
// that a kernel takes the cycles that its model predicts: the first beat of a burst comes `ReadLatency` cycles after
// its address, then a beat a cycle; the answer to a write comes `WriteLatency` cycles after its last beat.
//
// A beat is written whole or not at all. Its managers take beats and answers at once. Bursts increment in whole beats
// and stay in their 4 KiB, which divide the memory; one outside the memory is answered SLVERR and changes nothing.

`default_nettype none

module board_memory #(
  parameter int unsigned BeatBytes    = 16,
  parameter int unsigned Banks        = 4,   // of BankBeats beats, each in a block RAM for every 16 bits
  parameter int unsigned ReadLatency  = 16,
  parameter int unsigned WriteLatency = 4
) (
  input  wire                    clk_i,
  input  wire                    rst_i,
  input  wire  [63:0]            araddr_i,
  input  wire  [7:0]             arlen_i,
  input  wire                    arvalid_i,
  output logic                   arready_o,
  output logic [8*BeatBytes-1:0] rdata_o,
  output logic [1:0]             rresp_o,
  output logic                   rlast_o,
  output logic                   rvalid_o,
  input  wire  [63:0]            awaddr_i,
  input  wire  [7:0]             awlen_i,
  input  wire                    awvalid_i,
  output logic                   awready_o,
  input  wire  [8*BeatBytes-1:0] wdata_i,
  input  wire  [BeatBytes-1:0]   wstrb_i,
  input  wire                    wvalid_i,
  output logic                   wready_o,
  output logic [1:0]             bresp_o,
  output logic                   bvalid_o
);
  localparam int unsigned BankBeats   = 1024;
  localparam int unsigned BeatBits    = 8 * BeatBytes;
  localparam int unsigned AlignBits   = $clog2(BeatBytes);
  localparam int unsigned PlaceBits   = $clog2(BankBeats);
  localparam int unsigned BankBits    = (Banks > 1) ? $clog2(Banks) : 1;
  localparam int unsigned AddressBits = BankBits + PlaceBits;  // of a beat
  localparam int unsigned Depth       = 16;                    // bursts that wait
  localparam int unsigned NumberBits  = $clog2(Depth);
  localparam int unsigned Stages      = 4;                     // from the address of a beat to the port
  localparam logic [1:0] Okay = 2'b00, SubordinateError = 2'b10;

  typedef struct packed {
    logic [AddressBits-1:0] first;
    logic [7:0] length;
    logic outside;
  } burst_t;
  function automatic burst_t burst_of(input logic [63:0] address, input logic [7:0] length);
    return '{
      first: address[AlignBits+:AddressBits], length: length,
      outside: address >= 64'(Banks) * 64'(BankBeats) * 64'(BeatBytes)
    };
  endfunction

  // ---- reads: bursts in order, each from the cycle in which it is due ----
  (* ram_style = "distributed" *) burst_t reads[Depth];
  logic [NumberBits-1:0] read_head_q, read_tail_q;
  logic [NumberBits:0] reads_q;       // bursts that wait
  logic [ReadLatency-Stages-2:0] due_q;  // the bursts that came in the last cycles
  logic [NumberBits:0] ripe_q;        // bursts that are due
  burst_t read;
  logic outside_now_q;                // the current burst is outside
  logic [7:0] left_q;                 // beats behind the current one
  logic within_q, begins, issues;     // within a burst; a burst begins; a beat's address goes to the memory
  logic [AddressBits-1:0] read_place_q, read_place;
  logic last;
  assign arready_o  = !reads_q[NumberBits];
  assign read       = reads[read_head_q];
  assign begins     = !within_q && ripe_q != '0;
  assign issues     = begins || within_q;
  assign read_place = begins ? read.first : read_place_q;
  assign last       = begins ? read.length == '0 : left_q == '0;
  always_ff @(posedge clk_i) begin
    if (arvalid_i && arready_o) reads[read_tail_q] <= burst_of(araddr_i, arlen_i);
  end
  always_ff @(posedge clk_i) begin
    due_q <= {due_q[ReadLatency-Stages-3:0], arvalid_i && arready_o};
    if (arvalid_i && arready_o) read_tail_q <= read_tail_q + 1'b1;
    reads_q <= reads_q + (NumberBits + 1)'(arvalid_i && arready_o) - (NumberBits + 1)'(begins);
    ripe_q  <= ripe_q + (NumberBits + 1)'(due_q[ReadLatency-Stages-2]) - (NumberBits + 1)'(begins);
    if (begins) begin
      read_head_q   <= read_head_q + 1'b1;
      outside_now_q <= read.outside;
    end
    if (issues) begin
      read_place_q <= read_place + 1'b1;
      left_q       <= (begins ? read.length : left_q) - 1'b1;
      within_q     <= !last;
    end
    if (rst_i) begin
      read_head_q <= '0;
      read_tail_q <= '0;
      reads_q     <= '0;
      due_q       <= '0;
      ripe_q      <= '0;
      within_q    <= 1'b0;
    end
  end

  // ---- writes: a beat is accepted once the address of its burst is ----
  (* ram_style = "distributed" *) burst_t writes[Depth];
  logic [NumberBits-1:0] write_head_q, write_tail_q;
  logic [NumberBits:0] writes_q;    // bursts without all their data
  logic [7:0] write_beat_q;         // of the burst
  logic wrong_q, wrong;             // a beat of it cannot be written
  logic [WriteLatency-1:0] answer_q, answer_wrong_q;
  burst_t write;
  logic accepts, closes, whole;
  assign awready_o = !writes_q[NumberBits];
  assign wready_o  = writes_q != '0;
  assign write     = writes[write_head_q];
  assign accepts   = wvalid_i && wready_o;
  assign closes    = accepts && write_beat_q == write.length;
  assign whole     = &wstrb_i;
  assign wrong     = (write_beat_q != '0 && wrong_q) || write.outside || (|wstrb_i && !whole);
  always_ff @(posedge clk_i) begin
    if (awvalid_i && awready_o) writes[write_tail_q] <= burst_of(awaddr_i, awlen_i);
  end
  always_ff @(posedge clk_i) begin
    if (awvalid_i && awready_o) write_tail_q <= write_tail_q + 1'b1;
    writes_q <= writes_q + (NumberBits + 1)'(awvalid_i && awready_o) - (NumberBits + 1)'(closes);
    if (accepts) begin
      write_beat_q <= closes ? '0 : write_beat_q + 1'b1;
      wrong_q      <= wrong;
    end
    if (closes) write_head_q <= write_head_q + 1'b1;
    answer_q       <= {answer_q[WriteLatency-2:0], closes};
    answer_wrong_q <= {answer_wrong_q[WriteLatency-2:0], wrong};
    if (rst_i) begin
      write_head_q <= '0;
      write_tail_q <= '0;
      writes_q     <= '0;
      write_beat_q <= '0;
      answer_q     <= '0;
    end
  end
  assign bvalid_o = answer_q[WriteLatency-1];
  assign bresp_o  = answer_wrong_q[WriteLatency-1] ? SubordinateError : Okay;

  // ---- the block RAMs ----
  // A register before them, their own, one behind them, and one behind the choice of a bank.
  logic store_q;
  logic [AddressBits-1:0] store_place_q, fetch_place_q;
  logic [BeatBits-1:0] store_data_q;
  always_ff @(posedge clk_i) begin
    store_q       <= accepts && whole && !write.outside && !rst_i;
    store_place_q <= write.first + AddressBits'(write_beat_q);
    store_data_q  <= wdata_i;
    fetch_place_q <= read_place;
  end
  logic [Banks-1:0][BeatBits-1:0] word_q;
  for (genvar b = 0; b < Banks; b++) begin : gen_bank
    logic stores;
    logic [BeatBits-1:0] read_data;
    assign stores = store_q && store_place_q[PlaceBits+:BankBits] == BankBits'(b);
    fgnas_block_ram #(.Depth(BankBeats), .Width(BeatBits)) u_ram (
      .clk_i(clk_i), .write_i(stores), .write_address_i(store_place_q[PlaceBits-1:0]), .write_data_i(store_data_q),
      .read_address_i(fetch_place_q[PlaceBits-1:0]), .read_data_o(read_data)
    );
    always_ff @(posedge clk_i) word_q[b] <= read_data;
  end
  logic [Stages-1:0] valid_q, last_q, outside_q;
  logic [1:0][BankBits-1:0] bank_q;
  logic [BankBits-1:0] bank;
  always_ff @(posedge clk_i) begin
    valid_q   <= {valid_q[Stages-2:0], issues};
    last_q    <= {last_q[Stages-2:0], last};
    outside_q <= {outside_q[Stages-2:0], begins ? read.outside : outside_now_q};
    bank_q    <= {bank_q[0], fetch_place_q[PlaceBits+:BankBits]};
    rdata_o   <= word_q[bank];
    if (rst_i) valid_q <= '0;
  end
  assign bank     = bank_q[1];
  assign rvalid_o = valid_q[Stages-1];
  assign rlast_o  = last_q[Stages-1];
  assign rresp_o  = outside_q[Stages-1] ? SubordinateError : Okay;
endmodule

`default_nettype wire
