package kind

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

var (
	dockerFlag  = flag.String("docker", "", "use the daemon at this `address` instead of one of our own")
	installFlag = flag.Bool("install", os.Getenv("CI") == "true", "install what is missing from Debian")
	imageFlag   = flag.String("image", "", "use this node `image` instead of the one that hack/kind-node makes")
)

// Set up by TestMain, and only read afterwards.
var (
	binary string  // the program
	engine *daemon // the Docker that it works with
	node   string  // the image of nodes
	why    string  // why nothing can be tried here
)

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "test/kind:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	if binary, err = program.Find(); err != nil {
		return 0, err
	}
	if why, err = prepare(); err != nil {
		return 0, err
	}
	if why == "" {
		var back func() error
		if back, why, err = raise(); err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, back()) }()
	}
	if why != "" {
		return m.Run(), nil // each test says why it is skipped
	}
	before, err := filter()
	if err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "vsk-")
	if err != nil {
		return 0, err
	}
	engine = &daemon{dir: dir, address: *dockerFlag}
	defer func() {
		// In any case the daemon ends and its folder is removed.
		err = errors.Join(err, engine.remove())
		if err == nil && engine.own() {
			err = unchanged(before)
		}
	}()
	if err := engine.start(); err != nil {
		return 0, err
	}
	if node, err = nodeImage(); err != nil {
		return 0, err
	}
	return m.Run(), nil
}

// able skips a test where nothing can be tried.
func able(t *testing.T) {
	t.Helper()
	if why != "" {
		t.Skip(why)
	}
}
