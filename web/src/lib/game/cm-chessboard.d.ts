// The part of cm-chessboard (MIT) that ChessView uses.
declare module 'cm-chessboard/src/Chessboard.js' {
  export class Chessboard {
    constructor(context: HTMLElement, props: Readonly<Record<string, unknown>>);
    setPosition(fen: string, animated?: boolean): Promise<void>;
    destroy(): void;
  }
}
