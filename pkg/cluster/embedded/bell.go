package embedded

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// bell is a pipe that outlives the child's processes: a byte in it says that there is news.
type bell struct {
	near *os.File // the child's end
	far  *os.File
}

func newBell() (b bell, err error) {
	b.near, b.far, err = os.Pipe()
	return b, err
}

// ring returns at once; a pipe that is full of rings that nobody has heard needs no further one. It tries once, without a
// deadline: on a busy machine even a generous one may be over before the first try.
func (b bell) ring() error {
	conn, err := b.far.SyscallConn()
	if err != nil {
		return err
	}
	var wrote error
	if err := conn.Write(func(fd uintptr) bool {
		_, wrote = unix.Write(int(fd), []byte{1}) // the end that stays here does not block
		return true
	}); err != nil {
		return err
	}
	if errors.Is(wrote, unix.EAGAIN) {
		return nil
	}
	return wrote
}

func (b bell) close() error {
	if b.near == nil {
		return nil
	}
	return errors.Join(b.near.Close(), b.far.Close())
}
