package reported

import (
	"flag"
	"os"
	"testing"
)

// TestMain lets reports wait side by side: it is time that they take, not processors.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "64"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
