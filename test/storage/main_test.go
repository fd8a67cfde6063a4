package storage

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
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
	binary = os.Getenv("VSPHERE_SANDBOX_BIN")
	if binary == "" {
		binary = filepath.Join("..", "..", "bin", "vsphere-sandbox")
	}
	path, err := filepath.Abs(binary)
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "no binary to test: %v (make build)\n", err)
		os.Exit(1)
	}
	binary = path
	os.Exit(m.Run())
}
