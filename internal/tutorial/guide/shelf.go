package guide

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/tutorial"
)

// Shelf is where the worlds of pages are kept that have been begun: Dir, which need not be there.
type Shelf struct{ Dir string }

// ErrGuided is that a page is being walked through by another process.
var ErrGuided = errors.New("another terminal walks through it")

// World is the directory of a page's world. It is named by the page's number alone: there will be sockets in it, whose
// paths may not be long.
func (s Shelf) World(p *tutorial.Page) string {
	number, _, _ := strings.Cut(p.Name, "-")
	return filepath.Join(s.Dir, number)
}

// Place returns how far a page has been walked through, and nil if it has not been begun.
func (s Shelf) Place(p *tutorial.Page) (*Place, error) { return readPlace(s.World(p)) }

// take has the world of a page for this process, until release. The error is [ErrGuided] while another has it.
func (s Shelf) take(p *tutorial.Page) (release func(), err error) {
	dir := s.World(p)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = ErrGuided
		}
		return nil, errors.Join(err, lock.Close())
	}
	return func() { _ = lock.Close() }, nil // it gives the lock back with it
}

// Stop ends all that lives in the world of a page, and removes it; it says what there was to end. Programs that the reader
// runs there live on. A page that has not been begun is fine.
func (s Shelf) Stop(ctx context.Context, p *tutorial.Page, binary string) (left []string, err error) {
	if _, err := os.Stat(s.World(p)); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	release, err := s.take(p)
	if err != nil {
		return nil, err
	}
	defer release()
	return s.remove(ctx, p, binary)
}

func (s Shelf) remove(ctx context.Context, p *tutorial.Page, binary string) (left []string, err error) {
	left, err = tutorial.Remove(ctx, s.World(p), binary)
	if err != nil {
		err = fmt.Errorf("%s: %w", s.World(p), err)
	}
	_ = os.Remove(s.Dir) // if it was the last
	return left, err
}
