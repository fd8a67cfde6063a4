package release

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// asWarden in the environment makes the test's binary be the first process of a jail, for the folder that it names.
const asWarden = "RELEASE_TEST_AS_WARDEN"

// Set up by TestMain and only read afterwards.
var (
	dist    string // the folder with what was made
	archive string // the archive for this platform
)

func TestMain(m *testing.M) {
	if root := os.Getenv(asWarden); root != "" {
		if err := warden(root); err != nil {
			fmt.Fprintln(os.Stderr, "warden:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if err := find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func find() error {
	if dist = os.Getenv("VSPHERE_SANDBOX_DIST"); dist == "" {
		dist = filepath.Join("..", "..", "dist", "release")
	}
	found, err := filepath.Glob(filepath.Join(dist, "vsphere-sandbox_*_"+runtime.GOOS+"_"+runtime.GOARCH+".tar.gz"))
	if err != nil {
		return err
	}
	if len(found) != 1 {
		return fmt.Errorf("%s: %d archives for this platform, not one (make release-snapshot)", dist, len(found))
	}
	archive = found[0]
	return nil
}
