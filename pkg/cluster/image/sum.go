package image

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
)

// sum is a writer that hashes what passes.
type sum struct {
	to   io.Writer
	hash hash.Hash
}

func newSum(to io.Writer) *sum { return &sum{to: to, hash: sha256.New()} }

func (s *sum) Write(p []byte) (int, error) {
	n, err := s.to.Write(p)
	s.hash.Write(p[:n]) // never fails
	return n, err
}

func (s *sum) digest() string { return hex.EncodeToString(s.hash.Sum(nil)) }
