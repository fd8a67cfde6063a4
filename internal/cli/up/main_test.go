package up

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
)

// roleEnv makes the test binary play the program that detach runs instead of running the tests.
const roleEnv = "UP_TEST_ROLE"

func TestMain(m *testing.M) {
	if status, done := clitest.StandIn(); done {
		os.Exit(status)
	}
	role := os.Getenv(roleEnv)
	switch role {
	case "":
		os.Exit(m.Run())
	case "unheard":
		e := clitest.NewEnv(nil)
		e.State.Dir = os.Args[1]
		e.Streams.Out, e.Streams.Err = os.Stdout, os.Stderr
		os.Exit(e.Run(context.Background(), NewCmdUp(e.Deps, nil), "single", "--api-port", os.Args[2], "--ignore-preflight-errors=ports,inotify").Exit)
	}
	fmt.Fprintln(os.Stderr, strings.Join(os.Args[1:], " "))
	switch role {
	case "ready":
		if err := released(); err != nil {
			os.Exit(3)
		}
		fmt.Println("nobody sees this")
	case "fail":
		os.Exit(4)
	case "quit": // without a word
	case "slow":
		term := make(chan os.Signal, 1)
		signal.Notify(term, syscall.SIGTERM)
		fmt.Println("booting")
		select {
		case <-term:
			fmt.Println("terminated")
		case <-time.After(time.Minute):
		}
	}
	os.Exit(0)
}
