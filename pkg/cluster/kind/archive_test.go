package kind

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/input"
)

// However many descriptions an archive has, only so much of them is kept.
func TestArchiveOfDescriptions(t *testing.T) {
	r, w := io.Pipe()
	written := make(chan error, 1)
	go func() {
		tw := tar.NewWriter(w)
		one := []byte("[" + strings.Repeat(" ", maxManifest-2) + "]")
		var err error
		for n := 0; err == nil && n < 1000; n++ { // 4 GiB
			err = tw.WriteHeader(&tar.Header{Name: fmt.Sprint(n), Size: int64(len(one)), Typeflag: tar.TypeReg, Mode: 0o600})
			if err == nil {
				_, err = io.Copy(tw, bytes.NewReader(one))
			}
		}
		written <- errors.Join(err, w.CloseWithError(err))
	}()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := readArchive(r)
	runtime.ReadMemStats(&after)
	if tooLarge := (*input.TooLarge)(nil); !errors.As(err, &tooLarge) || err.Error() != "the description of the images is longer than 32 MiB" {
		t.Error(err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 1<<30 { // what growing some slices to that size takes
		t.Errorf("took %d MiB", took>>20)
	}
	_ = r.Close() // never fails
	if err := <-written; !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
}
