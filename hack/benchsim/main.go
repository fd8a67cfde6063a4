// Command benchsim measures the vCenter simulator beside stock vcsim, both through their API and over TLS, and prints the
// table of docs/benchmarks.md: building, memory, searches, watches, the gate.
//
// Each inventory lives in a process of its own, this program run again, so that memory is its own and stock vcsim can be
// left behind with its long polls. Stock is measured once and not at the large size, where its builder alone takes more
// than six minutes. Linux only: it reads /proc.
//
//	make bench-sim
//	go run ./hack/benchsim -quick
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
)

// settings are what is measured.
type settings struct {
	small, large int // VMs
	runs         int
	stock        bool
	profile      string
}

func main() {
	s := settings{small: 1000, large: 10000, runs: 3, stock: true}
	quick := flag.Bool("quick", false, "small inventories, one run: whether it works, not how fast it is")
	flag.IntVar(&s.runs, "n", s.runs, "runs, of which the median counts")
	flag.BoolVar(&s.stock, "stock", s.stock, "measure stock vcsim, too")
	flag.StringVar(&s.profile, "profile", "", "write CPU profiles into this `DIRECTORY`")
	child := flag.String("child", "", "for internal use: measure this side")
	vms := flag.Int("vms", 0, "for internal use: with so many VMs")
	flag.Parse()
	if *quick {
		s.small, s.large, s.runs = 100, 1000, 1
	}
	var err error
	switch *child {
	case "":
		err = bench(s)
	case "clients":
		err = beClients()
	default:
		err = measure(*child, *vms, s.profile)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchsim:", err)
		os.Exit(1)
	}
}

func bench(s settings) error {
	t := newTable(s)
	if s.stock {
		if err := t.child("stock", s.small); err != nil {
			return err
		}
	}
	for n := range s.runs {
		for _, vms := range []int{s.small, s.large} {
			if err := t.child("ours", vms); err != nil {
				return err
			}
		}
		cost, err := gateCost(2000)
		if err != nil {
			return err
		}
		t.add("ours", figures{{gateCall, cost.Seconds()}})
		fmt.Fprintf(os.Stderr, "run %d of %d done\n", n+1, s.runs)
	}
	fmt.Printf("%s/%s, %d CPUs, %d runs, stock is govmomi %s\n\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), s.runs, govmomiVersion())
	t.print(os.Stdout)
	return nil
}

// child measures one side in a process of its own.
func (t *table) child(side string, vms int) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	args := []string{"-child", side, "-vms", strconv.Itoa(vms)}
	if t.settings.profile != "" {
		args = append(args, "-profile", t.settings.profile)
	}
	cmd := exec.Command(self, args...)
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
