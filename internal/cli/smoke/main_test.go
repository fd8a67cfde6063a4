package smoke

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "control-plane" { // this binary stands in for the program: a boot is to fail there
		os.Exit(9)
	}
	os.Exit(m.Run())
}
