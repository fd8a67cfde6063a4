// Package sim measures the vCenter simulator beside stock vcsim, both through their API and over TLS, and prints the
// table of docs/benchmarks.md: building, memory, searches, watches, the gate.
//
// Each inventory runs in a separate process, this program run again, so that its memory can be measured and stock vcsim
// with its long polls can be left behind. Stock is measured once and not at the large size, where its builder alone takes
// more than six minutes. Linux only: it reads /proc.
//
//	make bench-sim
//	make bench-sim SIMARGS=-quick
package sim

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"testing"
)

var (
	quick    = flag.Bool("quick", false, "small inventories: whether it works, not how fast it is")
	stock    = flag.Bool("stock", true, "measure stock vcsim, too")
	profiles = flag.String("profiles", "", "write CPU profiles into this `DIRECTORY`")
	child    = flag.String("child", "", "for internal use: measure this side")
	vms      = flag.Int("vms", 0, "for internal use: with so many VMs")
)

// settings are what is measured.
type settings struct {
	small, large int // VMs
}

// TestMain is also the main of the processes that are measured.
func TestMain(m *testing.M) {
	flag.Parse()
	var err error
	switch *child {
	case "":
		os.Exit(m.Run())
	case "clients":
		err = beClients()
	default:
		err = measure(*child, *vms, *profiles)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// BenchmarkSimulator measures both sides and prints the table.
func BenchmarkSimulator(b *testing.B) {
	s := settings{small: 1000, large: 10000}
	if *quick {
		s = settings{small: 100, large: 1000}
	}
	t, runs := newTable(s), 0
	if *stock {
		if err := t.child("stock", s.small); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		for _, vms := range []int{s.small, s.large} {
			if err := t.child("ours", vms); err != nil {
				b.Fatal(err)
			}
		}
		cost, err := gateCost(2000)
		if err != nil {
			b.Fatal(err)
		}
		t.add("ours", figures{{gateCall, cost.Seconds()}})
		runs++
	}
	fmt.Printf("\n%s/%s, %d CPUs, %d runs, stock is govmomi %s\n\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runs, govmomiVersion())
	t.print(os.Stdout)
}

// child measures one side in a separate process.
func (t *table) child(side string, vms int) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, "-child", side, "-vms", strconv.Itoa(vms), "-profiles", *profiles)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s with %d VMs: %w", side, vms, err)
	}
	var f figures
	if err := json.NewDecoder(bytes.NewReader(out)).Decode(&f); err != nil {
		return fmt.Errorf("%s with %d VMs: %w", side, vms, err)
	}
	t.add(side, f)
	return nil
}
