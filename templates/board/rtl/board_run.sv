// Owns the kernel's control port: takes the host's reads and writes of registers one by one, and knows whether the
// kernel runs. The kernel's interrupt is enabled after a reset; when it comes at the end of a run, it is acknowledged.
// Cycles count from the accepted start write to the interrupt.

`default_nettype none

module board_run (
  input  wire                         clk_i,
  input  wire                         rst_i,
  input  wire                         valid_i,      // until done_o
  input  wire                         write_i,
  input  wire  [fgnas_pkg::RegisterAddressBits-1:0] address_i,
  input  wire  [31:0]                 data_i,
  output logic                        done_o,       // for one cycle
  output logic [31:0]                 data_o,
  output logic                        running_o,    // from the request for a start to the acknowledged interrupt
  output logic [63:0]                 cycles_o,     // of the last run
  input  wire                         interrupt_i,
  output logic [fgnas_pkg::RegisterAddressBits-1:0] awaddr_o,
  output logic                        awvalid_o,
  input  wire                         awready_i,
  output logic [31:0]                 wdata_o,
  output logic                        wvalid_o,
  input  wire                         wready_i,
  input  wire                         bvalid_i,
  output logic [fgnas_pkg::RegisterAddressBits-1:0] araddr_o,
  output logic                        arvalid_o,
  input  wire                         arready_i,
  input  wire  [31:0]                 rdata_i,
  input  wire                         rvalid_i
);
  typedef enum logic [2:0] {
    Begin,        // nothing is asked in a reset, nor just after it
    Enable,       // the interrupt of a run's end
    EnableAll,    // interrupts as such
    Rest,
    Write,
    Read,
    Acknowledge
  } state_e;
  state_e state_q;
  logic asked_q, given_q;  // address and data were accepted
  logic answered, starts;
  assign answered = state_q == Read ? rvalid_i : bvalid_i;
  assign starts   = valid_i && write_i && address_i == fgnas_pkg::AtControl && data_i[0];

  logic writing;
  assign writing   = state_q != Begin && state_q != Rest && state_q != Read;
  assign awvalid_o = writing && !asked_q;
  assign wvalid_o  = writing && !given_q;
  assign arvalid_o = state_q == Read && !asked_q;
  assign araddr_o  = address_i;
  always_comb begin
    awaddr_o = address_i;
    wdata_o  = data_i;
    unique case (state_q)
      Enable: awaddr_o = fgnas_pkg::AtInterruptEnable;
      EnableAll: awaddr_o = fgnas_pkg::AtGlobalInterruptEnable;
      Acknowledge: awaddr_o = fgnas_pkg::AtInterruptStatus;
      default: ;
    endcase
    // Of the control register only the start is written, and of interrupts only that of a run's end.
    if (state_q != Write || address_i == fgnas_pkg::AtControl) wdata_o[31:1] = '0;
    if (state_q != Write) wdata_o[0] = 1'b1;
  end

  always_ff @(posedge clk_i) begin
    done_o <= 1'b0;
    if (awready_i || arready_i) asked_q <= 1'b1;
    if (wready_i) given_q <= 1'b1;
    if (state_q == Begin) begin
      state_q <= Enable;
    end else if (state_q == Rest) begin
      asked_q <= 1'b0;
      given_q <= 1'b0;
      if (valid_i && !done_o) begin
        state_q <= write_i ? Write : Read;
        if (starts) running_o <= 1'b1;
      end else if (interrupt_i) begin
        state_q <= Acknowledge;
      end
    end else if (answered) begin
      asked_q <= 1'b0;
      given_q <= 1'b0;
      data_o  <= rdata_i;
      done_o  <= state_q == Write || state_q == Read;
      state_q <= state_q == Enable ? EnableAll : Rest;
      if (state_q == Acknowledge) running_o <= 1'b0;
    end
    if (rst_i) begin
      state_q   <= Begin;
      asked_q   <= 1'b0;
      given_q   <= 1'b0;
      done_o    <= 1'b0;
      running_o <= 1'b0;
    end
  end

  logic counting_q, interrupt_q;
  logic [63:0] count_q;
  always_ff @(posedge clk_i) begin
    interrupt_q <= interrupt_i;
    count_q     <= count_q + 1'b1;
    if (state_q == Write && starts && wvalid_o && wready_i) begin
      counting_q <= 1'b1;
      count_q    <= 64'd1;
    end else if (counting_q && interrupt_i && !interrupt_q) begin
      counting_q <= 1'b0;
      cycles_o   <= count_q;
    end
    if (rst_i) begin
      counting_q  <= 1'b0;
      interrupt_q <= 1'b0;
      cycles_o    <= '0;
    end
  end
endmodule

`default_nettype wire
