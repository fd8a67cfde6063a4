package storage

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

// Set by TestMain and only read afterwards.
var (
	seed   = flag.Uint64("seed", 0, "what the moments are chosen by; 0: another one each time")
	rounds = flag.Int("rounds", 5, "how often everything is made and deleted")
	claims = flag.Int("claims", 5, "how many claims a round makes, besides what is restored")

	binary string
)

func TestMain(m *testing.M) {
	flag.Parse()
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	var err error
	if binary, err = program.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
