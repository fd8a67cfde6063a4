package carried

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/atomicfile"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/private"
)

// unpack returns the program's file in a folder of the cache, which bears the hash of the archive. A file that is there is
// taken if it is what the archive would make; else it is made again, and appears whole or not at all. Only the user can read
// or run it.
func (p Program) unpack(ctx context.Context, cache string) (string, error) {
	archive := p.Archive
	sum := sha256.Sum256(archive)
	dir := filepath.Join(cache, hex.EncodeToString(sum[:]))
	file := filepath.Join(dir, p.Name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	if err := private.Dir(dir); err != nil { // a checksum is no proof of what others have put there
		return "", err
	}
	if same(ctx, file, archive) && runnable(file) == nil {
		return file, nil
	}
	f, err := atomicfile.Create(file, 0o700)
	if err != nil {
		return "", err
	}
	defer f.Discard()
	if err := write(ctx, f, archive); err != nil {
		return "", fmt.Errorf("unpack to %s: %w", dir, err)
	}
	return file, f.Commit()
}

func write(ctx context.Context, w io.Writer, archive []byte) error {
	r, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return err
	}
	_, err = io.Copy(w, reader{ctx, r})
	return err
}

// same says whether a file has the size and the checksum that stand at the end of a gzip archive.
func same(ctx context.Context, file string, archive []byte) bool {
	f, err := os.Open(file)
	if err != nil || len(archive) < 8 {
		return false
	}
	defer f.Close()
	sum := crc32.NewIEEE()
	size, err := io.Copy(sum, reader{ctx, f})
	end := archive[len(archive)-8:]
	return err == nil && sum.Sum32() == binary.LittleEndian.Uint32(end) && uint32(size) == binary.LittleEndian.Uint32(end[4:])
}

// reader reads until its context ends.
type reader struct {
	ctx context.Context
	io.Reader
}

func (r reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}
