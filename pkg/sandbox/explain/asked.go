package explain

import (
	"context"
	"sync"
	"time"
)

// Patience is how long one source may take to answer.
const Patience = 3 * time.Second

// Asked is what a source answered, or why it did not. A pointer that is nil without an error says that there is none.
type Asked[T any] struct {
	Is  T
	Err error
}

// ask puts a question within [Patience].
func ask[T any](ctx context.Context, f func(context.Context) (T, error)) Asked[T] {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	is, err := f(ctx)
	return Asked[T]{is, err}
}

// together runs all of them at once, and returns when the last is done.
func together(asks ...func()) {
	var wg sync.WaitGroup
	for _, f := range asks {
		wg.Go(f)
	}
	wg.Wait()
}
