package secret

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
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

// fdVariable names the descriptor on which a process gets the variables that its environment leaves out.
const fdVariable = "VSPHERE_SANDBOX_SECRETS_FD"

// variables are those in which users give passwords to this program, to govc and to providers.
func variables() []string {
	return []string{"GOVC_PASSWORD", "VSPHERE_PASSWORD", "VCENTER_PASSWORD", "VSPHERE_SANDBOX_PASSWORD"}
}

// urls are variables with a URL, in which user and password may stand.
func urls() []string { return []string{"GOVC_URL", "VSPHERE_SERVER", "VCENTER_URL"} }

// Variables returns the secrets in the variables that getenv, os.Getenv or its like, knows.
func Variables(getenv func(string) string) []string {
	var all []string
	for _, name := range variables() {
		if v := getenv(name); v != "" {
			all = append(all, v)
		}
	}
	for _, name := range urls() {
		if p := passwordIn(getenv(name)); p != "" {
			all = append(all, p)
		}
	}
	return all
}

func passwordIn(text string) string {
	if !strings.Contains(text, "://") {
		text = "https://" + text // as govc takes it
	}
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	p, _ := u.User.Password()
	return p
}

// Split parts an environment: what a process may have in its own, which every process of the user can read for as long as
// it runs, and what holds a secret.
func Split(environ []string) (open, secrets []string) {
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		getenv := func(asked string) string {
			if asked == name {
				return value
			}
			return ""
		}
		switch {
		case name == fdVariable:
		case len(Variables(getenv)) > 0:
			secrets = append(secrets, v)
		default:
			open = append(open, v)
		}
	}
	return open, secrets
}

// Hand returns a file from which [Inherit] takes the variables in a process that gets it as descriptor fd, and the variable
// that says so. The caller closes the file once the process has started.
func Hand(secrets []string, fd int) (file *os.File, variable string, err error) {
	text, err := json.Marshal(secrets)
	if err != nil {
		return nil, "", err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, "", err
	}
	const room = 64 << 10 // of a pipe: more would wait for a reader that does not run yet
	if len(text) > room {
		err = fmt.Errorf("variables with secrets: %d bytes, at most %d", len(text), room)
	} else {
		_, err = w.Write(text)
	}
	_ = w.Close()
	if err != nil {
		_ = r.Close()
		return nil, "", err
	}
	return r, fdVariable + "=" + strconv.Itoa(fd), nil
}

// Inherit sets the variables that were handed to this process, which then finds them as if they were in its environment.
// Without any it does nothing. A process calls it once, before it reads its environment.
func Inherit() error {
	fd, err := strconv.Atoi(os.Getenv(fdVariable))
	if err != nil {
		return nil
	}
	if err := os.Unsetenv(fdVariable); err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), "secrets")
	if f == nil {
		return fmt.Errorf("%s=%d: no such descriptor", fdVariable, fd)
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	var secrets []string
	if err == nil {
		err = json.Unmarshal(text, &secrets)
	}
	if err != nil {
		return fmt.Errorf("%s=%d: %w", fdVariable, fd, err)
	}
	for _, v := range secrets {
		name, value, _ := strings.Cut(v, "=")
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	return nil
}

// Longest is the length in bytes up to which the value of a Kubernetes Secret is known. What is longer is an archive,
// such as a Helm release, which stands in no text.
const Longest = 64 << 10

// Of returns the secrets in the data of a Kubernetes Secret by their keys: not the users, hosts and certificates that stand
// beside them.
func Of(data map[string][]byte) map[string]string {
	all := map[string]string{}
	for key, v := range data {
		if !public(key) && len(v) > 0 && len(v) <= Longest {
			all[key] = string(v)
		}
	}
	return all
}

// public reports whether what a Secret has under a key is none.
func public(key string) bool {
	key = strings.ToLower(key)
	return slices.ContainsFunc([]string{
		"username", "user", "ca.crt", "tls.crt", "namespace", "server", "host", "thumbprint", "expiration", "description",
		"usage-bootstrap-authentication", "usage-bootstrap-signing", "auth-extra-groups", "token-id",
	}, func(end string) bool { return strings.HasSuffix(key, end) })
}
