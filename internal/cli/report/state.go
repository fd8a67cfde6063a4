package report

import (
	"errors"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/private"
)

// State returns the error of a state directory, or of a file in it, that cannot be used or believed; nil for any other
// error. Every command may meet one.
func State(err error) error {
	const elsewhere = "export " + instance.RootEnv + "=DIR   # a folder that you alone may write"
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
