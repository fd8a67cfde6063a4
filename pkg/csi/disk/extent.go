package disk

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// extent returns the first stretch of data of a file from offset at on; from is size when there is none. On a file system
// that knows no holes it is all data.
func extent(f *os.File, at, size int64) (from, to int64, err error) {
	from, err = f.Seek(at, unix.SEEK_DATA)
	switch {
	case errors.Is(err, unix.ENXIO):
		return size, size, nil
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOTSUP):
		return at, size, nil
	case err != nil:
		return 0, 0, err
	}
	to, err = f.Seek(from, unix.SEEK_HOLE)
	if err != nil {
		return 0, 0, err
	}
	_, err = f.Seek(0, io.SeekStart)
	return from, min(to, size), err
}
