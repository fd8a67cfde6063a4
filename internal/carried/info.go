package carried

import (
	"bytes"
	"compress/gzip"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
)

// Info returns the modules of the program that [Program.Find] would return, and where it is: a file, or
// "carried". It unpacks into memory alone (about 50 MB for half a second) and writes nothing. The error is Find's.
func (p Program) Info(ctx context.Context) (info *debug.BuildInfo, from string, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, "", err
	}
	return search{Program: p, named: os.Getenv(p.Env), self: self}.info(ctx)
}

func (s search) info(ctx context.Context) (*debug.BuildInfo, string, error) {
	if s.named == "" && len(s.Archive) > 0 {
		info, err := carriedInfo(ctx, s.Archive)
		if err != nil {
			return nil, "", fmt.Errorf("%s: as it is carried: %w", s.Name, err)
		}
		return info, Inside, nil
	}
	file, err := s.find(ctx)
	if err != nil {
		return nil, "", err
	}
	info, err := buildinfo.ReadFile(file)
	return info, file, err
}

func carriedInfo(ctx context.Context, archive []byte) (*debug.BuildInfo, error) {
	r, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return nil, err
	}
	program, err := io.ReadAll(reader{ctx, r})
	if err = errors.Join(err, r.Close()); err != nil {
		return nil, err
	}
	return buildinfo.Read(bytes.NewReader(program))
}
