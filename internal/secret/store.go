package secret

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/atomicfile"
)

// The files of a store, in the instance directory.
const (
	KeyFile = "secrets.key"
	File    = "secrets.sealed"
)

// keySize is that of AES-256.
const keySize = 32

// ErrSealed says that a text was sealed with another key, or was changed.
var ErrSealed = errors.New("is not sealed with this instance's key")

// Store keeps the secrets of an instance. Make one with [Open]; its methods may be called from any goroutine. A nil Store
// keeps nothing.
type Store struct {
	aead cipher.AEAD

	mu     sync.Mutex
	file   *os.File // nil once closed
	known  map[string]bool
	values []string // in the order in which they became known
}

// Open opens the store in the instance directory dir, and creates a missing one. Secrets of an earlier process of the
// instance are known, and its sealed values can be opened. One process at a time may have it open.
func Open(dir string) (*Store, error) {
	key, err := readKey(dir)
	if errors.Is(err, fs.ErrNotExist) {
		key, err = makeKey(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("secrets: %w", err)
	}
	s, err := with(key)
	if err != nil {
		return nil, fmt.Errorf("secrets: %w", err)
	}
	if s.file, err = os.OpenFile(filepath.Join(dir, File), os.O_RDWR|os.O_CREATE|os.O_APPEND|syscall.O_NOFOLLOW, 0o600); err != nil {
		return nil, fmt.Errorf("secrets: %w", err)
	}
	whole, err := s.load(s.file)
	if err == nil {
		err = s.file.Truncate(whole) // a line that a crash has cut would spoil the next one
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("secrets: %w", err), s.file.Close())
	}
	return s, nil
}

// Read returns the secrets of the instance directory dir, of a running instance or of one that crashed, and changes
// nothing. A directory without a store has none.
func Read(dir string) ([]string, error) {
	key, err := readKey(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("secrets: %w", err)
	}
	s, err := with(key)
	if err != nil {
		return nil, fmt.Errorf("secrets: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, File), os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("secrets: %w", err)
	}
	_, err = s.load(f)
	if err = errors.Join(err, f.Close()); err != nil {
		err = fmt.Errorf("secrets: %w", err)
	}
	return s.values, err
}

func with(key []byte) (*Store, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return &Store{aead: aead, known: map[string]bool{}}, err
}

func readKey(dir string) ([]byte, error) {
	path := filepath.Join(dir, KeyFile)
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 2*keySize))
	if err != nil {
		return nil, err
	}
	key, err := base64.StdEncoding.DecodeString(string(bytes.TrimSpace(text)))
	if err != nil || len(key) != keySize {
		return nil, fmt.Errorf("%s: is no key", path)
	}
	return key, nil
}

// makeKey makes the key file, which is there as a whole or not at all.
func makeKey(dir string) ([]byte, error) {
	key := make([]byte, keySize)
	rand.Read(key) // never returns an error, since Go 1.24
	text := base64.StdEncoding.EncodeToString(key) + "\n"
	return key, atomicfile.WriteFile(filepath.Join(dir, KeyFile), []byte(text), 0o600)
}

// load reads the lines of r and returns how many bytes of it are whole lines.
func (s *Store) load(r io.Reader) (whole int64, err error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return 0, err
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	number := 0
	for line := range bytes.Lines(text) {
		number++
		value, err := s.open(string(bytes.TrimSpace(line)), ofValue)
		if err != nil {
			return 0, fmt.Errorf("%s:%d: %w", File, number, err)
		}
		s.add(string(value))
	}
	return int64(len(text)), nil
}

func (s *Store) add(value string) {
	s.known[value] = true
	s.values = append(s.values, value)
}

// Add writes secrets down, those that are new. They are on the disk, encrypted, when it returns. Empty ones are no
// secrets.
func (s *Store) Add(values ...string) error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines bytes.Buffer
	var fresh []string
	for _, v := range values {
		if v != "" && !s.known[v] && !slices.Contains(fresh, v) {
			fresh = append(fresh, v)
			lines.WriteString(s.seal([]byte(v), ofValue) + "\n")
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	if s.file == nil {
		return fmt.Errorf("secrets: %w", fs.ErrClosed)
	}
	if _, err := s.file.Write(lines.Bytes()); err != nil {
		return fmt.Errorf("secrets: %w", err)
	}
	for _, v := range fresh {
		s.add(v)
	}
	return nil
}

// Values returns the secrets, in the order in which they became known.
func (s *Store) Values() []string {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.values)
}

// Close closes the file. [Store.Add] then fails; sealing and opening still work. A second Close does nothing.
func (s *Store) Close() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	s.file = nil
	return err
}

// What a sealed text is of. It cannot be opened as anything else.
const (
	ofValue = "value"
	ofState = "state"
)

// Seal encrypts what another file of the instance keeps. The text that it returns fits into JSON as it is.
func (s *Store) Seal(plain []byte) (string, error) {
	if s == nil {
		return "", errors.New("secrets: there is no key")
	}
	return s.seal(plain, ofState), nil
}

// Unseal returns what was sealed, by this process or an earlier one of the instance.
func (s *Store) Unseal(sealed string) ([]byte, error) {
	if s == nil {
		return nil, errors.New("secrets: there is no key")
	}
	return s.open(sealed, ofState)
}

func (s *Store) seal(plain []byte, what string) string {
	return base64.RawStdEncoding.EncodeToString(s.aead.Seal(nil, nil, plain, []byte(what)))
}

func (s *Store) open(sealed, what string) ([]byte, error) {
	text, err := base64.RawStdEncoding.DecodeString(sealed)
	if err != nil {
		return nil, ErrSealed
	}
	plain, err := s.aead.Open(nil, nil, text, []byte(what))
	if err != nil {
		return nil, ErrSealed
	}
	return plain, nil
}
