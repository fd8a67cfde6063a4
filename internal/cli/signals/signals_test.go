package signals

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"
)

const roleEnv = "SIGNALS_TEST_ROLE"

// The test binary plays a program that takes its time to clean up: it says when it is asked to end, and ends in order when its
// standard input does.
func TestMain(m *testing.M) {
	role := os.Getenv(roleEnv)
	if role == "" {
		// What is caught here has its ordinary effect in the programs that the tests start, also when all of it runs under nohup.
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
		os.Exit(m.Run())
	}
	if role == "nohup" {
		signal.Ignore(syscall.SIGHUP)
	}
	ctx, release := Context(context.Background())
	if role == "released" {
		release()
	}
	fmt.Println("up")
	input := bufio.NewReader(os.Stdin)
	if role == "nohup" {
		_, _ = input.ReadString('\n')
		fmt.Println("still", ctx.Err())
		return
	}
	<-ctx.Done()
	fmt.Println("asked")
	_, _ = input.ReadString('\n')
	fmt.Println("cleaned up")
}

// play starts the program and returns what it says, line by line, and a way to have it clean up.
func play(t *testing.T, role string) (cmd *exec.Cmd, said func() string, finish func()) {
	t.Helper()
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleEnv+"="+role)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() })
	t.Cleanup(func() {
		timer.Stop()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	said = func() string { lines.Scan(); return lines.Text() }
	if line := said(); line != "up" {
		t.Fatalf("it said %q", line)
	}
	return cmd, said, func() { fmt.Fprintln(in) }
}

func TestOrderlyEnd(t *testing.T) {
	for name, tc := range map[string][]syscall.Signal{
		"one Ctrl-C":                  {syscall.SIGINT},
		"a terminal that closes":      {syscall.SIGHUP, syscall.SIGHUP},
		"a hang-up of a thousand":     {syscall.SIGHUP, syscall.SIGHUP, syscall.SIGHUP, syscall.SIGHUP, syscall.SIGHUP},
		"TERM twice":                  {syscall.SIGTERM, syscall.SIGTERM},
		"a service manager":           {syscall.SIGTERM, syscall.SIGHUP, syscall.SIGTERM},
		"Ctrl-C, then down sends":     {syscall.SIGINT, syscall.SIGTERM},
		"Ctrl-C, then it closes":      {syscall.SIGINT, syscall.SIGHUP, syscall.SIGHUP},
		"it closes, and one Ctrl-C":   {syscall.SIGHUP, syscall.SIGINT},
		"TERM, and then one Ctrl-C":   {syscall.SIGTERM, syscall.SIGINT},
		"all of them, and one Ctrl-C": {syscall.SIGHUP, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGHUP},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd, said, finish := play(t, "program")
			for i, s := range tc {
				if err := cmd.Process.Signal(s); err != nil {
					t.Fatalf("signal %d: %v", i, err)
				}
				if i == 0 {
					if line := said(); line != "asked" {
						t.Fatalf("it said %q", line)
					}
				}
			}
			finish()
			if line := said(); line != "cleaned up" {
				t.Errorf("it said %q", line)
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("it ended with %v", err)
			}
		})
	}
}

// A second Ctrl-C ends the program at once, after any other signal.
func TestImpatience(t *testing.T) {
	for name, first := range map[string][]syscall.Signal{
		"Ctrl-C":                   {syscall.SIGINT},
		"Ctrl-C, after a hang-up":  {syscall.SIGHUP, syscall.SIGINT},
		"Ctrl-C, before a hang-up": {syscall.SIGINT, syscall.SIGHUP},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd, said, _ := play(t, "program")
			for i, s := range first {
				if err := cmd.Process.Signal(s); err != nil {
					t.Fatal(err)
				}
				if i == 0 {
					_ = said()
				}
			}
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			// The first Ctrl-C may not be taken note of yet: a person presses again, too.
			for again := time.NewTicker(20 * time.Millisecond); ; {
				_ = cmd.Process.Signal(syscall.SIGINT)
				select {
				case err := <-ended:
					var exit *exec.ExitError
					if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGINT {
						t.Errorf("it ended with %v", err)
					}
					return
				case <-again.C:
				}
			}
		})
	}
}

func TestReleased(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		cmd, said, _ := play(t, "released")
		_ = said() // release ends the context
		if err := cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "signal: ") {
			t.Errorf("%v: it ended with %v", s, err)
		}
	}
}

func TestIgnoredHangUpStaysIgnored(t *testing.T) {
	cmd, said, finish := play(t, "nohup")
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	finish()
	if line := said(); line != "still <nil>" {
		t.Errorf("it said %q", line)
	}
}
