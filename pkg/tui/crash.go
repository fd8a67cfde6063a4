package tui

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// crash is a panic of a goroutine that bubbletea knows nothing of. The model panics with it in turn: then the terminal is
// given back.
type crash struct {
	reason any
	stack  []byte
}

func (c *crash) Error() string { return fmt.Sprintf("%v\n\n%s", c.reason, c.stack) }

// guard is deferred by such a goroutine, and tells of its panic.
func guard(tell func(error)) {
	if r := recover(); r != nil {
		tell(&crash{r, debug.Stack()})
	}
}

// raise panics when err is a crash.
func raise(err error) {
	if c, ok := errors.AsType[*crash](err); ok {
		panic(c.Error())
	}
}
