package controlplane

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/contract"
)

// notifyPipe returns a pipe as of the parent. followTuning closes the near end.
func notifyPipe(t *testing.T) (fd int, far *os.File) {
	t.Helper()
	var fds [2]int
	if err := unix.Pipe(fds[:]); err != nil {
		t.Fatal(err)
	}
	far = os.NewFile(uintptr(fds[1]), "far")
	t.Cleanup(func() { far.Close() })
	return fds[0], far
}

func TestFollowTuning(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tuning")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"etcdDelay":1000}`)
	fd, far := notifyPipe(t)
	reported := make(chan time.Duration, 10)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- followTuning(ctx, contract.ControlPlane{Tuning: path, NotifyFD: fd}, func(t contract.Tuning) { reported <- t.EtcdDelay })
	}()
	notify := func() {
		if _, err := far.Write([]byte{1}); err != nil {
			t.Fatal(err)
		}
	}
	if d := <-reported; d != 1000 {
		t.Errorf("at its start: %v", d)
	}
	write(`{}`)
	notify()
	if d := <-reported; d != 0 {
		t.Errorf("told %v", d)
	}
	write(`{"etcd`) // which changes nothing
	notify()
	write(`{"etcdDelay":7}`)
	notify()
	for d := range reported {
		if d == 7 {
			break
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestFollowTuningWithoutAParent(t *testing.T) {
	fd, far := notifyPipe(t)
	far.Close()
	err := followTuning(t.Context(), contract.ControlPlane{Tuning: filepath.Join(t.TempDir(), "none"), NotifyFD: fd}, func(contract.Tuning) {})
	if err == nil || err.Error() != "the parent is gone" {
		t.Errorf("got %v", err)
	}
}

func TestSlowness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s slowness
		request := func(ctx context.Context) (time.Duration, any, error) {
			begin := time.Now()
			answer, err := s.intercept(ctx, "question", nil, func(_ context.Context, req any) (any, error) { return req.(string) + "?", nil })
			return time.Since(begin), answer, err
		}
		for _, d := range []time.Duration{0, 300 * time.Millisecond, 0} {
			s.set(d)
			if took, answer, err := request(t.Context()); took != d || answer != "question?" || err != nil {
				t.Errorf("%v: %v, %v after %v", d, answer, err, took)
			}
		}
		s.set(time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if took, answer, err := request(ctx); took != time.Second || answer != nil || status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("not waited for: %v, %v after %v", answer, err, took)
		}
	})
}
