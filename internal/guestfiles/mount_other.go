//go:build !linux

package guestfiles

import "errors"

// Mount replaces /etc for this process: only Linux has that.
func (Files) Mount() error { return errors.New("only Linux has mount namespaces") }
