package report

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/printable"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/private"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Record is an error as it is printed.
type Record struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Why     string `json:"why,omitempty"`
	Try     string `json:"try,omitempty"`
	Exit    int    `json:"exit"`
}

// Of returns the record of err, the zero Record when err is nil. Errors it knows are [Error], [Exit], those of [State], those
// that a sandbox answers with, and the end of a context; every other is a plain failure.
func Of(err error) Record {
	var (
		own    *Error
		exit   Exit
		apiErr *api.Error
	)
	switch {
	case err == nil:
		return Record{}
	case errors.As(err, &exit):
		return Record{Exit: int(exit)}
	case errors.As(err, &own):
		r := Record{Code: own.Code, Message: own.Message, Try: own.Try, Exit: own.Exit}
		if own.Err != nil {
			r.Why = own.Err.Error()
		}
		r.Code = cmp.Or(r.Code, "failed")
		if r.Exit == OK {
			r.Exit = Failure
		}
		return r
	case State(err) != nil:
		return Of(State(err))
	case errors.As(err, &apiErr):
		r := Record{Code: apiErr.Code, Message: err.Error(), Try: apiErr.Try, Exit: Failure}
		if r.Code == "invalid" || r.Code == "ambiguous" { // what was asked for makes no sense, and nothing was done
			r.Exit = Usage
		}
		return r
	case errors.Is(err, context.Canceled):
		return Record{Code: "interrupted", Message: "interrupted", Exit: Interrupted}
	}
	return Record{Code: "failed", Message: err.Error(), Exit: Failure}
}

// Write prints r to w: as JSON or YAML if format is one of them, else as "error:" and "try:" lines. In text it omits a
// record without a message, and an interruption by the user's Ctrl-C. Lines longer than [MaxLine] are cut in their
// middle, in every format; in text, terminal escapes are escaped.
func Write(w io.Writer, format string, r Record) error {
	if r.Message == "" {
		return nil
	}
	switch format {
	case "json", "yaml":
		for _, text := range []*string{&r.Message, &r.Why, &r.Try} {
			*text = cutLines(strings.ToValidUTF8(*text, "\ufffd")) // as JSON has it
		}
	}
	switch format {
	case "json":
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(envelope{r})
	case "yaml":
		b, err := yaml.Marshal(envelope{r})
		if err != nil {
			return err
		}
		_, err = w.Write(b)
		return err
	}
	if r.Exit == Interrupted {
		return nil
	}
	text := "error: " + r.Message
	if r.Why != "" {
		text += ": " + r.Why
	}
	if r.Try != "" {
		text += "\ntry: " + strings.ReplaceAll(r.Try, "\n", "\ntry: ")
	}
	_, err := io.WriteString(w, cutLines(printable.Lines(text))+"\n")
	return err
}

// envelope keeps the door open for more beside the error.
type envelope struct {
	Error Record `json:"error"`
}

// State returns the error of a state directory, or of a file in it, that cannot be used or believed; nil for any other
// error. Every command may meet one.
func State(err error) error {
	const elsewhere = "export " + instance.RootEnv + "=DIR   # a folder that only you can write to"
	var planted *private.Error
	var unusable *instance.ErrUnusable
	switch {
	case errors.As(err, &planted):
		return &Error{
			Code: "state-untrusted", Message: planted.Error(), Exit: Prerequisite,
			Err: errors.New("another user could put there what this program then does in your name"),
			Try: strings.TrimPrefix(planted.Try+"\n"+elsewhere, "\n"),
		}
	case errors.As(err, &unusable):
		return &Error{Code: "state-unusable", Message: "the state directory " + unusable.Root + " cannot be used", Err: unusable.Err, Exit: Prerequisite, Try: elsewhere}
	}
	return nil
}

// MaxLine is how many bytes a line of an error may have. What is in files, and becomes part of errors, may be of any length.
const MaxLine = 2000

// cutLines cuts the lines of a text that are too long.
func cutLines(text string) string {
	if len(text) <= MaxLine {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = cut(line)
	}
	return strings.Join(lines, "\n")
}

// cut takes the middle out of a line that is too long, and says how long it was. The end stays, which often is the reason.
func cut(line string) string {
	if len(line) <= MaxLine {
		return line
	}
	note := fmt.Sprintf(" […%d bytes in all…] ", len(line))
	head := (MaxLine - len(note)) * 2 / 3
	tail := len(line) - (MaxLine - len(note) - head)
	for head > 0 && !utf8.RuneStart(line[head]) {
		head--
	}
	for tail < len(line) && !utf8.RuneStart(line[tail]) {
		tail++
	}
	return line[:head] + note + line[tail:]
}

// The exit statuses of every command.
const (
	OK           = 0
	Failure      = 1
	Usage        = 2   // wrong arguments or a wrong input file; nothing was changed
	Degraded     = 3   // the command ran, but a check, condition or expectation failed
	Prerequisite = 4   // this machine, or a cluster, lacks a prerequisite
	Interrupted  = 130 // Ctrl-C
)

// Error is an error with its presentation. Fields may be empty: Code then is "failed", Exit [Failure].
type Error struct {
	// Code is a stable kebab-case id.
	Code string
	// Message is one sentence: lower case, subject first, no full stop.
	Message string
	// Try is what to do about it, a command where there is one; several lines are several things to try.
	Try string
	// Exit is the exit status.
	Exit int
	// Err is the reason, if another error is.
	Err error
}

// Error returns the message and the reason.
func (e *Error) Error() string {
	if e.Err == nil {
		return e.Message
	}
	return e.Message + ": " + e.Err.Error()
}

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }

// Coded gives the error of another package an exit status: that of its code in exits, or else otherwise. Errors that have no
// code, and nil, are returned as they are.
func Coded(err error, otherwise int, exits map[string]int) error {
	e, ok := errors.AsType[*coded.Error](err)
	if !ok {
		return err
	}
	exit, ok := exits[e.Code]
	if !ok {
		exit = otherwise
	}
	return &Error{Code: e.Code, Message: e.Message, Try: e.Try, Err: e.Err, Exit: exit}
}

// UsageError returns an error for a command that was asked wrongly. try may be empty.
func UsageError(try, format string, args ...any) error {
	return &Error{Code: "usage", Message: fmt.Sprintf(format, args...), Try: try, Exit: Usage}
}

// Exit is an error that was printed already: only its number, the exit status, counts.
type Exit int

// Error returns "exit status N".
func (e Exit) Error() string { return fmt.Sprintf("exit status %d", int(e)) }
