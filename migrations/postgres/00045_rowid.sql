-- How SQLite stores rows with texts; nothing changes here.

-- +goose Up

-- +goose Down
