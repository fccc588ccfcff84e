// s_axilite with the layout of Vitis HLS, for any list of arguments: block control, interrupts, the words of the
// arguments, and the status output.

`default_nettype none

module array_control (
  input  wire         clk_i,
  input  wire         rst_i,
  input  wire  [6:0]  awaddr_i,
  input  wire         awvalid_i,
  output logic        awready_o,
  input  wire  [31:0] wdata_i,
  input  wire  [3:0]  wstrb_i,
  input  wire         wvalid_i,
  output logic        wready_o,
  output logic [1:0]  bresp_o,
  output logic        bvalid_o,
  input  wire         bready_i,
  input  wire  [6:0]  araddr_i,
  input  wire         arvalid_i,
  output logic        arready_o,
  output logic [31:0] rdata_o,
  output logic [1:0]  rresp_o,
  output logic        rvalid_o,
  input  wire         rready_i,
  output logic        interrupt_o,
  output logic        start_o,
  input  wire         idle_i,
  input  wire         done_i,        // for one cycle
  input  wire  [31:0] status_i,
  output logic [array_pkg::ArgumentWords-1:0][31:0] arguments_o
);
  import array_pkg::*;

  // A write is accepted when its address and its data are both valid.
  logic write, read;
  assign write     = awvalid_i && wvalid_i && !bvalid_o;
  assign awready_o = write;
  assign wready_o  = write;
  assign bresp_o   = 2'b00;
  assign read      = arvalid_i && !rvalid_o;
  assign arready_o = read;
  assign rresp_o   = 2'b00;

  logic start_q, restart_q, done_q, global_enable_q, status_valid_q;
  logic [1:0] enable_q, interrupt_q;
  assign start_o     = start_q;
  assign interrupt_o = global_enable_q && |interrupt_q;

  logic [31:0] mask, argument;
  assign mask = {{8{wstrb_i[3]}}, {8{wstrb_i[2]}}, {8{wstrb_i[1]}}, {8{wstrb_i[0]}}};
  always_ff @(posedge clk_i) begin
    for (int unsigned a = 0; a < ArgumentWords; a++) begin
      if (write && awaddr_i == ArgumentAt[a]) arguments_o[a] <= (wdata_i & mask) | (arguments_o[a] & ~mask);
    end
  end
  always_comb begin
    argument = '0;
    for (int unsigned a = 0; a < ArgumentWords; a++) if (araddr_i == ArgumentAt[a]) argument |= arguments_o[a];
  end

  always_ff @(posedge clk_i) begin
    if (done_i) begin
      start_q        <= restart_q;
      done_q         <= 1'b1;
      status_valid_q <= 1'b1;
      interrupt_q    <= interrupt_q | enable_q;
    end else if (read && araddr_i == AtControl) begin
      done_q <= 1'b0;
    end else if (read && araddr_i == AtStatus + 7'd4) begin
      status_valid_q <= 1'b0;
    end
    if (write && wstrb_i[0]) begin
      if (awaddr_i == AtControl) begin
        if (wdata_i[0]) start_q <= 1'b1;
        restart_q <= wdata_i[7];
      end
      if (awaddr_i == AtGlobalInterruptEnable) global_enable_q <= wdata_i[0];
      if (awaddr_i == AtInterruptEnable) enable_q <= wdata_i[1:0];
      if (awaddr_i == AtInterruptStatus) begin
        // A done in this very cycle is not lost.
        interrupt_q <= (interrupt_q ^ wdata_i[1:0]) | (done_i ? enable_q : 2'b00);
      end
    end
    bvalid_o <= write || (bvalid_o && !bready_i);
    rvalid_o <= read || (rvalid_o && !rready_i);
    if (rst_i) begin
      start_q         <= 1'b0;
      restart_q       <= 1'b0;
      done_q          <= 1'b0;
      status_valid_q  <= 1'b0;
      global_enable_q <= 1'b0;
      enable_q        <= '0;
      interrupt_q     <= '0;
      bvalid_o        <= 1'b0;
      rvalid_o        <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (read) begin
      unique case (araddr_i)
        AtControl: rdata_o <= {22'b0, interrupt_o, 1'b0, restart_q, 3'b0, done_i, idle_i, done_q, start_q};
        AtGlobalInterruptEnable: rdata_o <= {31'b0, global_enable_q};
        AtInterruptEnable: rdata_o <= {30'b0, enable_q};
        AtInterruptStatus: rdata_o <= {30'b0, interrupt_q};
        AtStatus: rdata_o <= status_i;
        AtStatus + 7'd4: rdata_o <= {31'b0, status_valid_q};
        default: rdata_o <= argument;
      endcase
    end
  end
endmodule

`default_nettype wire
